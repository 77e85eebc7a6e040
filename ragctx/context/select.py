"""Selection under one token budget: a share for each section, what one leaves another may use.

Units are whole documents where they are short and single chunks of long ones. They are taken in order of relevance,
first within their section's share, then with whatever is left. A unit that nearly repeats one already taken is left
out, and so is a document for other targets only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ragctx.context.options import SHARES, Section
from ragctx.corpus import Chunk

WHOLE_DOCUMENT_TOKENS = 900
NEAR_DUPLICATE = 0.8
_SHINGLE_WORDS = 5


@dataclass(frozen=True, slots=True)
class Unit:
    """What is taken or left as one: chunks of one document, next to each other.

    Attributes:
        section: The section it would stand in.
        document: The document's id.
        chunks: Its chunks, in order.
        relevance: By which units are ordered.
        score: The best BM25 score among its chunks; 0 when it came by reference alone.
        reason: Why it is a candidate, in a few words.
        text: The rendered block.
        tokens: The rendered block's tokens.
    """

    section: Section
    document: str
    chunks: tuple[Chunk, ...]
    relevance: float
    score: float
    reason: str
    text: str
    tokens: int

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """Return the ids of its chunks."""
        return tuple(chunk.id for chunk in self.chunks)

    @property
    def plain(self) -> str:
        """Return its chunks' text, without the tags around it."""
        return "".join(chunk.text for chunk in self.chunks)

    @property
    def order(self) -> tuple[float, str]:
        """Return the sort key: most relevant first, ties by chunk id."""
        return (-self.relevance, self.chunks[0].id)


@dataclass(slots=True)
class Selection:
    """The units taken, in the order they were considered, and what was left out for a reason worth telling."""

    units: list[Unit] = field(default_factory=list)
    dropped: list[dict[str, str]] = field(default_factory=list)


class DuplicateFilter:
    """Tells whether a unit nearly repeats one already kept: Jaccard similarity of runs of five words.

    Args:
        cache: Runs by chunk ids, to share between filters of one index.
    """

    def __init__(self, cache: dict[tuple[str, ...], frozenset[int]] | None = None) -> None:
        self._cache = {} if cache is None else cache
        self._kept: list[tuple[str, frozenset[int]]] = []

    def repeated(self, unit: Unit) -> str | None:
        """Return the first chunk's id of a kept unit that `unit` nearly repeats, or None."""
        mine = self._shingles(unit)
        for other_id, other in self._kept:
            smaller, larger = sorted((len(mine), len(other)))
            if larger and smaller >= NEAR_DUPLICATE * larger:
                common = len(mine & other)
                if common >= NEAR_DUPLICATE * (len(mine) + len(other) - common):
                    return other_id
        return None

    def keep(self, unit: Unit) -> None:
        """Remember a unit as taken."""
        self._kept.append((unit.chunks[0].id, self._shingles(unit)))

    def _shingles(self, unit: Unit) -> frozenset[int]:
        # By all ids: a document that is whole here may be in parts elsewhere, and both start with the same chunk.
        known = self._cache.get(unit.chunk_ids)
        if known is None:
            words = unit.plain.split()
            runs = range(max(1, len(words) - _SHINGLE_WORDS + 1))
            # String hashes differ between processes, but only equality within this one matters.
            known = frozenset(hash(tuple(words[i : i + _SHINGLE_WORDS])) for i in runs)
            self._cache[unit.chunk_ids] = known
        return known


def fill(
    units: Iterable[Unit],
    budget: int,
    *,
    heading_tokens: Mapping[Section, int],
    duplicates: DuplicateFilter,
    shares: Mapping[Section, float] | None = SHARES,
) -> Selection:
    """Take units while they fit.

    Args:
        units: Candidates; they are taken in order of relevance.
        budget: Tokens for units and headings together.
        heading_tokens: What a section's heading costs when its first unit is taken.
        duplicates: Already holds what stands in the fixed parts.
        shares: Share of the budget that each section may use in the first pass; None for no such pass.
    """
    selection = Selection()
    spent: dict[Section, int] = {}
    waiting: list[Unit] = []
    candidates = sorted(units, key=lambda unit: unit.order)
    present = {unit.section for unit in candidates}
    given = shares or {}
    whole = sum(given.get(section, 0.0) for section in present) or 1.0
    allotted = {s: budget * given.get(s, 0.0) / whole if shares is not None else budget for s in present}

    def cost(unit: Unit) -> int:
        return unit.tokens + (0 if unit.section in spent else heading_tokens.get(unit.section, 0))

    def take(unit: Unit, limit: Callable[[Unit], bool]) -> bool:
        if sum(spent.values()) + cost(unit) > budget or not limit(unit):
            return False
        same = duplicates.repeated(unit)
        if same is not None:
            selection.dropped.append({"chunk": unit.chunks[0].id, "reason": f"nearly repeats {same}"})
            return True
        duplicates.keep(unit)
        spent[unit.section] = spent.get(unit.section, 0) + cost(unit)
        selection.units.append(unit)
        return True

    for unit in candidates:
        if not take(unit, lambda u: spent.get(u.section, 0) + cost(u) <= allotted[u.section]):
            waiting.append(unit)
    for unit in waiting:
        take(unit, lambda u: True)
    return selection


def by_section(units: Sequence[Unit]) -> dict[Section, list[Unit]]:
    """Return units by section, each in order of relevance with a document's own chunks in reading order."""
    grouped: dict[Section, list[Unit]] = {}
    first: dict[str, tuple[float, str]] = {}
    for unit in sorted(units, key=lambda u: u.order):
        first.setdefault(unit.document, unit.order)
    for unit in sorted(units, key=lambda u: (first[u.document], u.document, u.chunks[0].id)):
        grouped.setdefault(unit.section, []).append(unit)
    return grouped
