"""The reference engine: rank-bm25's model with Lucene's formula, slow and plain, to hold the stored arrays against."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
from rank_bm25 import BM25

from ragctx.index.bm25 import K1, B, Contribution, Engine, Floats, Postings, check_terms, in_order, quantised


class LuceneBM25(BM25):  # type: ignore[misc]
    """rank-bm25 with Lucene's idf, which is above 0 for every term, and its term frequency part."""

    def _calc_idf(self, nd: Mapping[str, int]) -> None:
        for term, n in nd.items():
            self.idf[term] = math.log(1 + (self.corpus_size - n + 0.5) / (n + 0.5))

    def get_scores(self, query: Iterable[str]) -> Floats:
        """Return the score of every text; a term given twice counts twice."""
        scores = np.zeros(self.corpus_size)
        lengths = np.array(self.doc_len)
        for term, weight in Counter(query).items():
            idf = self.idf.get(term)
            if idf is None:
                continue
            frequency = np.array([text.get(term) or 0 for text in self.doc_freqs])
            share = idf * (frequency / (K1 * ((1 - B) + B * lengths / self.avgdl) + frequency))
            scores += weight * np.where(frequency > 0, quantised(share), 0.0)
        return scores


class ReferenceEngine(Engine):
    """Scores with `LuceneBM25` over the frequencies that the index stores."""

    name = "rank-bm25"

    def __init__(self, postings: Postings) -> None:
        texts: list[list[str]] = [[] for _ in range(len(postings.lengths))]
        starts = postings.starts.tolist()
        for column, term in enumerate(postings.vocabulary):
            span = slice(starts[column], starts[column + 1])
            chunks, frequencies = postings.chunks[span].tolist(), postings.frequencies[span].tolist()
            for chunk, frequency in zip(chunks, frequencies, strict=True):
                texts[chunk] += [term] * frequency
        self.model = LuceneBM25(texts)

    def raw_scores(self, terms: Mapping[str, int]) -> Floats:
        """Return the unrounded score of every chunk."""
        scores: Floats = self.model.get_scores(Counter(terms).elements())
        return scores

    def contributions(self, terms: Mapping[str, int], chunk: int) -> list[Contribution]:
        """Return what each term adds to a chunk's score, largest first, without the terms that add nothing."""
        found = []
        for term, weight in check_terms(terms).items():
            score = float(self.raw_scores({term: weight})[chunk])
            if score > 0:
                found.append(Contribution(term, weight, score))
        return in_order(found)
