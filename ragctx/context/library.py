"""An opened index as the selection sees it: documents, their chunks and references, each decoded once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from ragctx.context.query import for_target
from ragctx.context.rank import References
from ragctx.corpus import Chunk, Document, Kind, matching
from ragctx.index import Index

_REMEMBERED = 5_000
# An example or a rule is in a prefix for what it shows; that another one names it says little.
_REACH = {Kind.EXAMPLE.value: 0.1, Kind.RULE.value: 0.2}


class Library:
    """Documents of an index by number, remembered once decoded.

    Args:
        index: The opened index.
    """

    def __init__(self, index: Index) -> None:
        self.index = index
        self._documents: dict[int, Document] = {}
        self._chunks: dict[int, tuple[Chunk, ...]] = {}
        self._terms: dict[int, Mapping[str, int]] = {}
        self._kinds: dict[int, str] = {}

    def document(self, number: int) -> Document:
        """Return a document by its number."""
        known = self._documents.get(number)
        if known is None:
            if len(self._documents) >= _REMEMBERED:
                self._documents.clear()
            known = self._documents[number] = self.index.document_at(number)
        return known

    def chunks(self, number: int) -> tuple[Chunk, ...]:
        """Return a document's chunks in reading order."""
        known = self._chunks.get(number)
        if known is None:
            if len(self._chunks) >= _REMEMBERED:
                self._chunks.clear()
            known = self._chunks[number] = tuple(self.index.chunk(i) for i in self.index.chunks_of(number))
        return known

    @cached_property
    def references(self) -> References:
        """The reference edges, compressed by source."""
        edges = self.index.edges
        return References(self.index.documents_count, edges.source, edges.target, edges.weight)

    def aside(self, terms: Mapping[str, int]) -> frozenset[int]:
        """Return the numbers of the documents beside the API that a query does not ask for."""
        return frozenset(number for number, asked_by in self._aside if asked_by.isdisjoint(terms))

    @cached_property
    def _aside(self) -> tuple[tuple[int, frozenset[str]], ...]:
        tokens = self.index.tokenizer.tokens
        listed: Mapping[str, list[str]] = self.index.manifest["aside"]
        return tuple((self.index.document_number(i), frozenset(tokens(" ".join(words)))) for i, words in listed.items())

    def term_counts(self, number: int) -> Mapping[str, int]:
        """Return the index terms of a document's text with their frequencies."""
        known = self._terms.get(number)
        if known is None:
            if len(self._terms) >= _REMEMBERED:
                self._terms.clear()
            tokens = self.index.tokenizer.tokens
            known = self._terms[number] = Counter(t for chunk in self.chunks(number) for t in tokens(chunk.text))
        return known

    @cached_property
    def always(self) -> tuple[int, ...]:
        """Numbers of the documents that stand in every prefix."""
        return tuple(self._numbers(self.index.manifest["always"]))

    @cached_property
    def hardware(self) -> tuple[int, ...]:
        """Numbers of the hardware sheets."""
        return tuple(self._numbers(self.index.manifest["hardware"]))

    def kind(self, number: int) -> str:
        """Return a document's kind, read off its id."""
        known = self._kinds.get(number)
        if known is None:
            known = self._kinds[number] = self.index.document_ids[number].partition("/")[0]
        return known

    def reach(self, number: int) -> float:
        """Return how much of what comes by reference counts for a document of this kind."""
        return _REACH.get(self.kind(number), 1.0)

    def hardware_for(self, target: str) -> tuple[int, ...]:
        """Return the numbers of the sheets of one target."""
        return tuple(n for n in self.hardware if target in self.document(n).targets)

    def addressing(self, error: str) -> list[int]:
        """Return the numbers of the documents whose triggers match an error, most specific first."""
        documents = {d.id: n for n, d in ((n, self.document(n)) for n in self._triggered)}
        found = matching([self.document(n) for n in self._triggered], error)
        return [documents[d.id] for d in found]

    @cached_property
    def _triggered(self) -> tuple[int, ...]:
        return tuple(self._numbers(self.index.manifest["triggered"]))

    def _numbers(self, ids: Iterable[str]) -> Iterator[int]:
        return (self.index.document_number(document_id) for document_id in ids)

    def selectable(self, number: int, target: str) -> bool:
        """Return whether a document may be selected by relevance for a target."""
        document = self.document(number)
        return document.kind is not Kind.HARDWARE and for_target(document, target)
