"""Lucene's BM25 over stored arrays: building the postings, and scoring a query with NumPy alone.

The score of a chunk is the sum over the query's terms of

    weight * ln(1 + (N - n + 0.5) / (n + 0.5)) * f / (f + k1 * (1 - b + b * length / mean length))

with N chunks, n of them holding the term, f its frequency in the chunk, k1 = 1.5 and b = 0.75 (Kamphuis et al. 2020,
"Which BM25 do you mean?", the variant "Lucene (accurate)"). Each posting's share is kept as a multiple of 2^-40, so
that sums are exact: engines that add in different orders agree to the last bit, and so do their ranks.
"""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ragctx.errors import RagctxError
from ragctx.index.strings import SortedStrings, pack

K1 = 1.5
B = 0.75
UNITS = 1e5

_GRAIN = 2.0**40
_TERM_CACHE_LIMIT = 50_000
_COMMON_BYTES_LIMIT = 32 * 2**20

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Postings:
    """Everything scoring needs, as arrays in compressed columns: one column a term, rows ascending inside it.

    Attributes:
        vocabulary: The terms, sorted; a term's place is its column.
        starts: Where each column starts in the three arrays below, and the end of the last.
        chunks: The chunk of each posting.
        scores: What the posting adds to the chunk's score at query weight 1.
        frequencies: How often the term occurs in the chunk (read by the reference engine only).
        lengths: Terms in each chunk, with repetitions.
    """

    vocabulary: SortedStrings
    starts: npt.NDArray[np.int64]
    chunks: npt.NDArray[np.int32]
    scores: Floats
    frequencies: npt.NDArray[np.uint32]
    lengths: npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one query term adds to one chunk's score; a chunk's contributions add up to its score."""

    term: str
    weight: int
    score: float


class Engine(ABC):
    """Scores chunks for weighted terms; every engine gives the same scores to the last bit."""

    name: ClassVar[str]

    @abstractmethod
    def raw_scores(self, terms: Mapping[str, int]) -> Floats:
        """Return the unrounded score of every chunk."""

    @abstractmethod
    def contributions(self, terms: Mapping[str, int], chunk: int) -> list[Contribution]:
        """Return what each term adds to a chunk's score, largest first, without the terms that add nothing."""

    def scores(self, terms: Mapping[str, int]) -> Floats:
        """Return the score of every chunk, rounded to 1e-5; 0 is no match."""
        return rounded(self.raw_scores(check_terms(terms)))

    def top(self, terms: Mapping[str, int], k: int, allowed: npt.NDArray[np.bool_] | None = None) -> Ranking:
        """Return the k best chunks, ordered by (-score, number); fewer if fewer match.

        Args:
            terms: Query terms with their integer weights.
            k: How many at most.
            allowed: Which chunks may be returned; all by default.
        """
        if k < 1:
            raise RagctxError(f"cannot return {k} results", remedy="ask for at least 1")
        raw = self.raw_scores(check_terms(terms))
        if allowed is not None:
            raw = np.where(allowed, raw, 0.0)
        return _top(raw, k)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best chunks of a query: their numbers and rounded scores, best first."""

    chunks: npt.NDArray[np.int64]
    scores: Floats


class StoredEngine(Engine):
    """Adds up the stored scores of the query's terms.

    The columns of common terms (in more than a third of the chunks) are kept as plain arrays after their first use:
    most queries hold some, and adding a plain array takes a third of the time that adding as many postings does.
    """

    name = "bm25s"

    def __init__(self, postings: Postings) -> None:
        self._postings = postings
        self._starts = memoryview(postings.starts)  # type: ignore[arg-type]
        self._ranges: dict[str, tuple[int, int]] = {}
        self._size = len(postings.lengths)
        self._common: dict[int, Floats] = {}
        self._common_limit = max(1, _COMMON_BYTES_LIMIT // (8 * max(1, self._size)))

    def raw_scores(self, terms: Mapping[str, int]) -> Floats:
        """Return the unrounded score of every chunk."""
        rare: list[tuple[int, int, int]] = []
        common: list[tuple[Floats, int]] = []
        for (start, end), weight in zip(self._find(list(terms)), terms.values(), strict=True):
            if 3 * (end - start) > self._size:
                common.append((self._column(start, end), weight))
            else:
                rare.append((start, end, weight))
        scores = self._sum(rare)
        if common:
            share = np.empty(self._size)
            for column, weight in common:
                np.multiply(column, weight, out=share)
                scores += share
        return scores

    def _sum(self, ranges: Sequence[tuple[int, int, int]]) -> Floats:
        """Return the sum of weighted ranges of postings."""
        total = sum(end - start for start, end, _ in ranges)
        chunks = np.empty(total, dtype=np.intp)
        shares = np.empty(total)
        if total == 0:
            return np.zeros(self._size)
        all_chunks, all_scores = self._postings.chunks, self._postings.scores
        at = 0
        for start, end, weight in ranges:
            until = at + end - start
            chunks[at:until] = all_chunks[start:end]
            np.multiply(all_scores[start:end], weight, out=shares[at:until])
            at = until
        # One pass over all postings; several times faster than adding column by column.
        scores: Floats = np.bincount(chunks, weights=shares, minlength=self._size)  # type: ignore[assignment]
        if len(scores) != self._size:
            raise ValueError("a posting names a chunk that there is not")
        return scores

    def contributions(self, terms: Mapping[str, int], chunk: int) -> list[Contribution]:
        """Return what each term adds to a chunk's score, largest first, without the terms that add nothing."""
        found = []
        check_terms(terms)
        for (term, weight), (start, end) in zip(terms.items(), self._find(list(terms)), strict=True):
            at = start + int(np.searchsorted(self._postings.chunks[start:end], chunk))
            if at < end and self._postings.chunks[at] == chunk:
                found.append(Contribution(term, weight, weight * float(self._postings.scores[at])))
        return in_order(found)

    def _column(self, start: int, end: int) -> Floats:
        known = self._common.get(start)
        if known is None:
            known = self._sum([(start, end, 1)])
            if len(self._common) >= self._common_limit:
                self._common.clear()
            self._common[start] = known
        return known

    def _find(self, terms: Sequence[str]) -> list[tuple[int, int]]:
        """Return where each term's postings start and end."""
        ranges = self._ranges
        unknown = [term for term in terms if term not in ranges]
        if unknown:
            if len(ranges) + len(unknown) > _TERM_CACHE_LIMIT:
                ranges.clear()
                unknown = list(terms)
            starts = self._starts
            for term, column in zip(unknown, self._postings.vocabulary.find_many(unknown), strict=True):
                ranges[term] = (0, 0) if column < 0 else (starts[column], starts[column + 1])
        return [ranges[term] for term in terms]


def engine(name: str, postings: Postings) -> Engine:
    """Return an engine by name.

    Raises:
        RagctxError: If there is no such engine.
    """
    if name == StoredEngine.name:
        return StoredEngine(postings)
    if name == "rank-bm25":
        # The reference is for comparison only; its library stays off the query path.
        from ragctx.index.reference import ReferenceEngine

        return ReferenceEngine(postings)
    raise RagctxError(f"unknown engine '{name}'", remedy=f"use one of: {', '.join(ENGINES)}")


ENGINES: tuple[str, ...] = ("bm25s", "rank-bm25")


def settings() -> dict[str, Any]:
    """Return what identifies the scores in a manifest."""
    return {"method": "lucene", "k1": K1, "b": B, "grain": "2^-40", "unit": "1e-5"}


def quantised(shares: Floats) -> Floats:
    """Return posting scores as multiples of 2^-40 (an error of 5e-13 at most), none of them 0."""
    return np.maximum(np.rint(shares * _GRAIN), 1.0) / _GRAIN


def rounded(raw: Floats) -> Floats:
    """Return scores rounded to 1e-5; what matches keeps at least 1e-5, so that 0 always means no match."""
    units = np.rint(raw * UNITS)
    units[(units == 0) & (raw > 0)] = 1
    return units / UNITS


def in_order(found: list[Contribution]) -> list[Contribution]:
    """Return contributions largest first, equal ones by term."""
    return sorted(found, key=lambda c: (-c.score, c.term))


def check_terms(terms: Mapping[str, int]) -> Mapping[str, int]:
    """Return the terms if every weight is a positive whole number.

    Raises:
        RagctxError: If one is not: weights are repetitions of a term.
    """
    for term, weight in terms.items():
        if type(weight) is not int or weight < 1:
            raise RagctxError(
                f"the weight of '{term}' is {weight!r}", remedy="weights are repetitions: use whole numbers from 1"
            )
    return terms


def _top(raw: Floats, k: int) -> Ranking:
    """Return the k best of unrounded scores, ordered as their rounded scores demand."""
    least = 0.0
    groups = max(64, 4 * k)
    if raw.size >= 4 * groups:
        # The k-th largest of the maxima of disjoint groups is at most the k-th largest score, and a whole
        # partition of the scores would take several times longer than everything else here.
        width = raw.size // groups
        maxima = raw[: groups * width].reshape(groups, width).max(axis=1)
        least = float(np.partition(maxima, groups - k)[groups - k]) - 2 / UNITS
    found = np.flatnonzero(raw >= least) if least > 0 else np.flatnonzero(raw)
    scores = rounded(raw[found])
    order = np.argsort(-scores, kind="stable")[:k]
    return Ranking(found[order], scores[order])


def build_postings(texts: Sequence[Sequence[str]]) -> Postings:
    """Build the postings of texts given as terms; a text's place is its chunk number.

    Raises:
        RagctxError: If there are no texts, or no term in any of them.
    """
    if not any(texts):
        raise RagctxError("the corpus is empty: there is nothing to search", remedy="name a folder with documents")
    numbers: dict[str, int] = {}
    first_seen = [[numbers.setdefault(term, len(numbers)) for term in text] for text in texts]
    terms = sorted(numbers)
    columns = np.empty(len(terms), dtype=np.int64)
    columns[[numbers[term] for term in terms]] = np.arange(len(terms))
    place = columns.tolist()
    rows = [[place[number] for number in text] for text in first_seen]
    del first_seen
    starts, chunks, scores = _bm25s_columns(rows, len(terms))
    # bm25s keeps no frequencies; sorting (column, row) pairs gives them in the order of its columns.
    lengths = np.fromiter((len(row) for row in rows), dtype=np.uint32, count=len(rows))
    pairs = np.fromiter((c for row in rows for c in row), dtype=np.int64, count=int(lengths.sum()))
    pairs = (pairs << 32) | np.repeat(np.arange(len(rows), dtype=np.int64), lengths)
    distinct, frequencies = np.unique(pairs, return_counts=True)
    if not np.array_equal(distinct & 0xFFFFFFFF, chunks):
        raise AssertionError("bm25s ordered its postings in a way that ragctx does not know")
    blob, offsets = pack(terms)
    return Postings(
        SortedStrings(blob, offsets),
        starts,
        chunks,
        quantised(scores),
        frequencies.astype(np.uint32),
        lengths,
    )


def _bm25s_columns(
    rows: Sequence[Sequence[int]], vocabulary_size: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], Floats]:
    """Return column starts, chunk numbers and scores as bm25s computes them."""
    with _hidden("jax", "numba"):
        import bm25s
    model: Any = bm25s.BM25(k1=K1, b=B, method="lucene", dtype="float64", int_dtype="int32")
    vocabulary = {str(number): number for number in range(vocabulary_size)}
    model.index((rows, vocabulary), create_empty_token=False, show_progress=False)
    columns = model.scores
    return (
        np.asarray(columns["indptr"], dtype=np.int64),
        np.asarray(columns["indices"], dtype=np.int32),
        np.asarray(columns["data"], dtype=np.float64),
    )


_hiding = threading.Lock()


@contextmanager
def _hidden(*names: str) -> Iterator[None]:
    """Make modules unimportable for a while: importing bm25s runs a JAX operation if it can (0.8 s, 490 MB)."""
    missing = object()
    with _hiding:
        before = {name: sys.modules.get(name, missing) for name in names}
        try:
            for name in names:
                sys.modules[name] = None  # type: ignore[assignment]
            yield
        finally:
            for name, module in before.items():
                if module is missing:
                    sys.modules.pop(name, None)
                else:
                    sys.modules[name] = module  # type: ignore[assignment]
