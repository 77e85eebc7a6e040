"""From scores of chunks to an order of documents, with references followed.

BM25 finds the pages that talk about the task; the reference edges (`ragctx.corpus.references`) find what those pages
lean on. A document's relevance is its own score plus what flows to it from relevant documents that mention what it
defines:

    own[d]     = best chunk score of d / best chunk score of all
    flow[d]    = sum over s of  own[s] * weight(s -> d) / (1 + ln(out-weight of s))   (nearest first: one step)
    second[d]  = the same from flow instead of own                                     (then the next step)
    relevance  = own + FLOW * flow + FLOW**2 * second

A page that many relevant pages lean on (the session object, the unit) so comes before a page that shares a word with
the task. The constants were chosen on evaluation/in-house and checked on documentation that had no part in choosing
them; evaluation/results/in-house.md has the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FLOW = 0.5
SEEDS = 40

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class References:
    """Edges between documents as arrays: compressed rows by source.

    Attributes:
        starts: Offsets into `targets` by source document, one more than there are documents.
        targets: Target document of each edge.
        weights: Weight of each edge, in (0, 1].
    """

    starts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]

    @classmethod
    def from_edges(
        cls,
        documents: int,
        source: Sequence[int] | npt.NDArray[np.int32],
        target: Sequence[int] | npt.NDArray[np.int32],
        weight: Sequence[float] | npt.NDArray[np.float32],
    ) -> References:
        """Build from parallel edge lists sorted by source."""
        counts = np.bincount(np.asarray(source, dtype=np.int64), minlength=documents)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return cls(starts, np.asarray(target, np.int32), np.asarray(weight, np.float32))

    def of(self, document: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the targets and weights of one document's edges."""
        span = slice(int(self.starts[document]), int(self.starts[document + 1]))
        return self.targets[span], self.weights[span]


@dataclass(frozen=True, slots=True)
class Relevance:
    """How relevant one document is and why.

    Attributes:
        document: Position of the document.
        value: Own score plus flow, rounded to 1e-6.
        own: Its own score as a share of the best.
        via: The document that gave it the largest flow, or None if its own score is the larger part.
    """

    document: int
    value: float
    own: float
    via: int | None


def rank_documents(own: Mapping[int, float], references: References, *, flow: float = FLOW) -> list[Relevance]:
    """Order documents by relevance; ties go to the smaller position.

    Args:
        own: Best chunk score by document position, positive.
        references: Edges between documents.
        flow: What one step of reference passes on.
    """
    if not own:
        return []
    best = max(own.values())
    seeds = sorted(own, key=lambda d: (-own[d], d))[:SEEDS]
    share = {d: own[d] / best for d in own}
    first, via = _step({d: share[d] for d in seeds}, references)
    second, via_second = _step({d: min(1.0, f) for d, f in first.items()}, references)
    ranked = []
    for d in sorted(set(share) | set(first) | set(second)):
        mine = share.get(d, 0.0)
        value = mine + flow * first.get(d, 0.0) + flow * flow * second.get(d, 0.0)
        came = via.get(d) if d in first else via_second.get(d)
        ranked.append(Relevance(d, round(value, 6), round(mine, 6), came if value > 2 * mine else None))
    ranked.sort(key=lambda r: (-r.value, r.document))
    return ranked


def _step(value: Mapping[int, float], references: References) -> tuple[dict[int, float], dict[int, int]]:
    """Pass `value` along the edges once; also return, for each document reached, who gave it most."""
    flow: dict[int, float] = {}
    most: dict[int, tuple[float, int]] = {}
    for source in sorted(value):
        targets, weights = references.of(source)
        if not len(targets):
            continue
        spread = 1.0 + float(np.log1p(max(0.0, float(weights.sum()) - 1.0)))
        for target, weight in zip(targets.tolist(), weights.tolist(), strict=True):
            given = value[source] * weight / spread
            flow[target] = flow.get(target, 0.0) + given
            if given > most.get(target, (0.0, -1))[0]:
                most[target] = (given, source)
    return flow, {d: s for d, (_, s) in most.items()}
