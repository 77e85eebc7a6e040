"""Words of the best documents as a second query: what a task calls by other words, its library calls by its own."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from ragctx.index import Index

DOCUMENTS = 4
TERMS = 40
_LARGEST_WEIGHT = 10


def feedback_terms(
    index: Index, best: Iterable[tuple[int, float]], counts: Callable[[int], Mapping[str, int]]
) -> dict[str, int]:
    """Return the weighted terms that set the best documents apart (a relevance model; Lavrenko and Croft 2001).

    A term's weight is the sum over documents of  score * frequency / length * idf,  scaled to whole numbers from 1
    to 10; the 40 largest are kept, ties in the order of terms.

    Args:
        index: The index.
        best: Documents by number with their scores, best first.
        counts: Gives a document's terms with their frequencies.
    """
    total: Counter[str] = Counter()
    chunks = len(index)
    for document, score in best:
        terms = counts(document)
        length = sum(terms.values()) or 1
        for term, frequency in terms.items():
            total[term] += score * frequency / length  # type: ignore[assignment]
    weighted = {term: share * _idf(chunks, index.frequency(term)) for term, share in total.items()}
    top = sorted(weighted.items(), key=lambda item: (-item[1], item[0]))[:TERMS]
    if not top or top[0][1] <= 0:
        return {}
    return {term: max(1, round(_LARGEST_WEIGHT * weight / top[0][1])) for term, weight in top}


def _idf(chunks: int, holding: int) -> float:
    return math.log(1 + (chunks - holding + 0.5) / (holding + 0.5))
