"""From scores of chunks to an order of documents, with references followed.

BM25 finds the pages that talk about a task; the references between documents (`ragctx.corpus.references`) find what
those pages lean on: the object to create first, the unit, the order of calls, the error code. The relevance of a
document d is a sum of

    own       score of d / best score, and how early d stands in BM25's order: 1 - ln(1 + rank) / ln(1 + N)
    feedback  score of d for the words of the best documents, as a share of the best (Lavrenko and Croft 2001)
    unit      how well d matches the words of a dimension that the task mentions ("20 seconds"), cubed
    needed    1 - prod over the SEEDS best documents s of (1 - weight(s -> d) * (1 - 0.2 * place of s)): what the
              best documents mention and d is the home of
    further   the same from `needed`: what those pages lean on in turn
    shared    the share of the SHARED_BY best documents that lean on d
    using     what mentions the documents that match

The weights were fitted on three sets of invented documentation with 120 tasks (`python -m evaluation.retrieval.fit`)
and then rounded; how well they do, on those and on documentation that had no part in it, stands in
evaluation/results/in-house.md. Pages about a project
rather than its API (change logs, contacts) count for a fifth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

SEEDS = 4
SHARED_BY = 8
CONSIDERED = 400
ASIDE = 0.2

_SEED_STEP = 0.2
_FURTHER = 0.6
_MOST = 0.95
_USING_SOURCES = 20
_USING_TOTAL = 2.0

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal counts for."""

    own: float = 1.2
    place: float = 2.3
    feedback: float = 1.7
    unit: float = 2.4
    needed: float = 2.0
    further: float = 1.2
    shared: float = 1.5
    using: float = 0.6
    aside: float = -0.5


WEIGHTS = Weights()


class References:
    """Edges between documents, by source and by target.

    Args:
        documents: How many documents there are.
        source: The document that leans on another, of each edge.
        target: The document it leans on.
        weight: How much, in (0, 1].
    """

    def __init__(
        self,
        documents: int,
        source: Sequence[int] | npt.NDArray[np.int32],
        target: Sequence[int] | npt.NDArray[np.int32],
        weight: Sequence[float] | npt.NDArray[np.float32],
    ) -> None:
        self._documents = documents
        self._source = np.asarray(source, dtype=np.int64)
        self._target = np.asarray(target, dtype=np.int64)
        self._weight = np.asarray(weight, dtype=np.float64)

    @cached_property
    def _by_source(self) -> tuple[Ints, Ints]:
        return _grouped(self._source, self._documents)

    @cached_property
    def _by_target(self) -> tuple[Ints, Ints]:
        return _grouped(self._target, self._documents)

    def needed_by(self, document: int) -> tuple[list[int], list[float]]:
        """Return what a document leans on, and how much."""
        order, starts = self._by_source
        edges = order[starts[document] : starts[document + 1]]
        return self._target[edges].tolist(), self._weight[edges].tolist()

    def using(self, document: int) -> tuple[list[int], list[float]]:
        """Return what leans on a document, and how much."""
        order, starts = self._by_target
        edges = order[starts[document] : starts[document + 1]]
        return self._source[edges].tolist(), self._weight[edges].tolist()


def _grouped(keys: Ints, documents: int) -> tuple[Ints, Ints]:
    counts = np.bincount(keys, minlength=documents)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]).astype(np.int64)
    return np.argsort(keys, kind="stable").astype(np.int64), starts


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of documents before references are followed, by document number.

    Attributes:
        own: Best BM25 score of its chunks, positive.
        feedback: Score for the words of the best documents, as a share of the best; empty where not asked for.
        unit: Best score for the words of a mentioned dimension, as a share of the best; empty where none is.
        aside: Documents about the project rather than its API.
    """

    own: Mapping[int, float]
    feedback: Mapping[int, float] = field(default_factory=dict)
    unit: Mapping[int, float] = field(default_factory=dict)
    aside: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Relevance:
    """How relevant one document is and why.

    Attributes:
        document: The document's number.
        value: The sum of its signals, rounded to 1e-6.
        matched: Whether its own words matched the query.
        via: The document that needs it, where that weighs more than its own match; else None.
    """

    document: int
    value: float
    matched: bool
    via: int | None


def best_documents(own: Mapping[int, float], count: int) -> list[int]:
    """Return the documents with the best scores, best first; ties go to the smaller number."""
    return sorted(own, key=lambda d: (-own[d], d))[:count]


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals of one document, as the module's docstring defines them, and who needs it most."""

    own: float
    place: float
    feedback: float
    unit: float
    needed: float
    further: float
    shared: float
    using: float
    aside: float
    via: int | None

    def matching(self, weights: Weights) -> float:
        """Return what speaks for the document by its own words."""
        mine = weights.own * self.own + weights.place * self.place
        return mine + weights.feedback * self.feedback + weights.unit * self.unit

    def referred(self, weights: Weights) -> float:
        """Return what speaks for it because others lean on it."""
        return weights.needed * self.needed + weights.further * self.further + weights.shared * self.shared

    def value(self, weights: Weights) -> float:
        """Return the relevance."""
        others = self.referred(weights) + weights.using * self.using
        return self.matching(weights) + others + weights.aside * self.aside


def rank_documents(
    evidence: Evidence,
    references: References,
    *,
    group: Callable[[int], object] = lambda _: None,
    reach: Callable[[int], float] = lambda _: 1.0,
    weights: Weights = WEIGHTS,
) -> list[Relevance]:
    """Order documents by relevance; ties go to the smaller number.

    Args:
        evidence: What is known of each.
        references: Edges between documents.
        group: Documents are placed in BM25's order among those of their own group (kind).
        reach: How much of what comes by reference counts for a document: 1 for pages that explain a name, less for
            examples and rules, which are chosen for what they show.
        weights: What each signal counts for.
    """
    ranked = []
    for d, signal in signals(evidence, references, group=group, reach=reach, weights=weights).items():
        via = signal.via if signal.referred(weights) > signal.matching(weights) else None
        ranked.append(Relevance(d, round(signal.value(weights), 6), d in evidence.own, via))
    ranked.sort(key=lambda r: (-r.value, r.document))
    return ranked


def signals(
    evidence: Evidence,
    references: References,
    *,
    group: Callable[[int], object] = lambda _: None,
    reach: Callable[[int], float] = lambda _: 1.0,
    weights: Weights = WEIGHTS,
) -> dict[int, Signals]:
    """Return the signals of every document that has any; arguments as for `rank_documents`."""
    damped = {d: score * _openness(d, evidence.aside) for d, score in evidence.own.items()}
    considered = best_documents(damped, CONSIDERED)
    if not considered:
        return {}
    best = damped[considered[0]]
    own = {d: damped[d] / best for d in considered}
    place = _places(considered, lambda _: None)
    first = {
        d: weights.own * own[d] + weights.place * place[d] + weights.feedback * evidence.feedback.get(d, 0.0)
        for d in considered
    }
    seeds = best_documents(first, SEEDS)
    needed, via = _needed({d: 1.0 - _SEED_STEP * i for i, d in enumerate(seeds)}, references, evidence.aside)
    further, via_further = _needed({d: _FURTHER * v for d, v in needed.items()}, references, evidence.aside)
    shared = _shared(best_documents(first, SHARED_BY), references, evidence.aside)
    using = _using({d: own[d] ** 2 for d in considered[:_USING_SOURCES]}, references, evidence.aside)
    place = _places(considered, group)
    found = {}
    for d in {**first, **needed, **further, **shared, **using, **evidence.unit}:
        share = reach(d)
        found[d] = Signals(
            own=own.get(d, 0.0),
            place=place.get(d, 0.0),
            feedback=evidence.feedback.get(d, 0.0),
            unit=evidence.unit.get(d, 0.0) ** 3,
            needed=share * needed.get(d, 0.0),
            further=share * further.get(d, 0.0),
            shared=share * shared.get(d, 0.0),
            using=share * using.get(d, 0.0),
            aside=1.0 if d in evidence.aside else 0.0,
            via=via.get(d, via_further.get(d)),
        )
    return found


def _openness(document: int, aside: frozenset[int]) -> float:
    return ASIDE if document in aside else 1.0


def _places(ordered: Sequence[int], group: Callable[[int], object]) -> dict[int, float]:
    """Return 1 for the first document of each group, falling with the logarithm of the place to 0."""
    members: dict[object, list[int]] = {}
    for d in ordered:
        members.setdefault(group(d), []).append(d)
    places = {}
    for group_members in members.values():
        scale = math.log1p(max(len(group_members), 20))
        for rank, d in enumerate(group_members):
            places[d] = max(0.0, 1.0 - math.log1p(rank) / scale)
    return places


def _needed(
    value: Mapping[int, float], references: References, aside: frozenset[int]
) -> tuple[dict[int, float], dict[int, int]]:
    """Return what documents of some value lean on, and for each which of them gives it most."""
    missing: dict[int, float] = {}
    most: dict[int, tuple[float, int]] = {}
    for source in sorted(value):
        for target, weight in zip(*references.needed_by(source), strict=True):
            share = weight * _openness(source, aside) * _openness(target, aside)
            given = min(_MOST, value[source] * share)
            missing[target] = missing.get(target, 1.0) * (1.0 - given)
            if given > most.get(target, (0.0, -1))[0]:
                most[target] = (given, source)
    return {d: 1.0 - left for d, left in missing.items()}, {d: source for d, (_, source) in most.items()}


def _shared(best: Sequence[int], references: References, aside: frozenset[int]) -> dict[int, float]:
    """Return how much the best documents lean on each document, on average."""
    total: dict[int, float] = {}
    for source in best:
        for target, weight in zip(*references.needed_by(source), strict=True):
            share = weight * _openness(source, aside) * _openness(target, aside)
            total[target] = total.get(target, 0.0) + share / SHARED_BY
    return total


def _using(value: Mapping[int, float], references: References, aside: frozenset[int]) -> dict[int, float]:
    """Return what leans on matching documents; a document that everything leans on passes little to each."""
    total: dict[int, float] = {}
    for target in sorted(value):
        sources, weights = references.using(target)
        shares = [w * _openness(s, aside) * _openness(target, aside) for s, w in zip(sources, weights, strict=True)]
        spread = max(1.0, sum(shares) / _USING_TOTAL)
        for source, share in zip(sources, shares, strict=True):
            total[source] = min(2.0, total.get(source, 0.0) + value[target] * share / spread)
    return total
