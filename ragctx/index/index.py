"""An opened index: search, explain, and everything stored beside the postings, decoded only when asked for."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ragctx import __version__
from ragctx.corpus.document import Chunk, Document, Kind
from ragctx.errors import RagctxError
from ragctx.index import codec
from ragctx.index.bm25 import Contribution, Engine, Floats, Postings, engine
from ragctx.index.bm25 import settings as engine_settings
from ragctx.index.folder import FolderReader, damaged, find_folder, other_version
from ragctx.index.strings import SortedStrings
from ragctx.index.synonyms import SynonymGroup, Synonyms, from_json
from ragctx.index.tokenizer import Tokenizer

DEFAULT_ENGINE = "bm25s"

_ATTEMPTS = 6

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that a query found.

    Attributes:
        index: The chunk's number.
        id: The chunk's id.
        score: Its score, rounded to 1e-5 and above 0.
    """

    index: int
    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Edges:
    """References between documents as parallel arrays, sorted by source and then target.

    Attributes:
        source: The number of the document that leans on another.
        target: The number of the document it leans on.
        weight: How much.
    """

    source: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float32]


class TokenCounts(Mapping[int, int]):
    """Token counts by block key, as `ragctx.tokens.TokenCounter` takes them; bisected on the memory map."""

    def __init__(self, keys: npt.NDArray[np.uint64], counts: npt.NDArray[np.uint32]) -> None:
        self._keys = keys
        self._counts = counts

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[int]:
        return (int(key) for key in self._keys)

    def __getitem__(self, key: int) -> int:
        at = int(self._keys.searchsorted(np.uint64(key)))
        if at == len(self._keys) or int(self._keys[at]) != key:
            raise KeyError(key)
        return int(self._counts[at])


class Lines:
    """Lines of a memory map by number.

    Args:
        folder: The index folder, for errors.
        content: The map.
        offsets: Where each line starts, and the end of the last.
    """

    def __init__(self, folder: Path, content: bytes | mmap.mmap, offsets: npt.NDArray[np.int64]) -> None:
        if int(offsets[0]) != 0 or int(offsets[-1]) != len(content):
            raise damaged(folder, "line offsets do not fit their file")
        self._content = content
        self._offsets = offsets

    def __getitem__(self, number: int) -> bytes:
        return self._content[int(self._offsets[number]) : int(self._offsets[number + 1])]


class Index:
    """One index, read through memory maps; open it with `open_index`.

    Chunks are numbered in the order of their ids, documents likewise.

    Attributes:
        path: The digest folder.
        manifest: What the index was built from and with.
        tokenizer: The tokenizer it was built with.
        documents_count: How many documents there are.
        document_ids: All document ids, sorted.
        chunk_ids: All chunk ids, sorted.
        chunk_documents: The document's number of each chunk.
        edges: References between documents.
        token_counts: Token counts of the blocks of all chunks.
    """

    def __init__(self, reader: FolderReader) -> None:
        self._reader = reader
        self.path = reader.folder
        self.manifest: Mapping[str, Any] = reader.manifest
        counts = _counts(reader)
        chunks, documents = counts["chunks"], counts["documents"]
        self.documents_count = documents
        self.tokenizer = Tokenizer()
        self.chunk_ids = self._strings("chunk_ids", chunks)
        self.document_ids = self._strings("document_ids", documents)
        self._chunks = self._lines("chunks", chunks)
        self._documents = self._lines("documents", documents)
        self.chunk_documents: npt.NDArray[np.int32] = reader.array("chunk_documents", np.int32, chunks)
        self._chunk_kinds: npt.NDArray[np.uint8] = reader.array("chunk_kinds", np.uint8, chunks)
        self._document_chunks: npt.NDArray[np.int32] = reader.array("document_chunks", np.int32, documents, 2)
        self.edges = Edges(
            reader.array("edges_source", np.int32, counts["edges"]),
            reader.array("edges_target", np.int32, counts["edges"]),
            reader.array("edges_weight", np.float32, counts["edges"]),
        )
        self.token_counts: Mapping[int, int] = TokenCounts(
            reader.array("token_keys", np.uint64, counts["blocks"]),
            reader.array("token_counts", np.uint32, counts["blocks"]),
        )
        self._postings = self._open_postings(counts)
        self._synonyms_json = bytes(reader.blob("synonyms.json"))
        self._synonyms: Synonyms | None = None
        self._engines: dict[str, Engine] = {}
        self._masks: dict[frozenset[str], npt.NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self.chunk_ids)

    @property
    def digest(self) -> str:
        """The digest that identifies this index's content."""
        return str(self.manifest["digest"])

    def query(self, text: str, *, error: bool = False) -> dict[str, int]:
        """Return the weighted terms by which a text is searched, synonyms included.

        Args:
            text: The query.
            error: Whether the whole text is an error message.
        """
        return self.synonyms.expand(self.tokenizer.query(text, error=error))

    @property
    def synonyms(self) -> Synonyms:
        """The synonyms stored with the index."""
        if self._synonyms is None:
            self._synonyms = Synonyms(self.synonym_groups(), self.tokenizer)
        return self._synonyms

    def synonym_groups(self) -> tuple[SynonymGroup, ...]:
        """Return the synonym groups stored with the index."""
        return self._guarded(lambda: from_json(self._synonyms_json), "synonyms.json is not readable")

    def search(
        self,
        terms: Mapping[str, int] | str,
        *,
        k: int,
        kinds: Collection[Kind | str] | None = None,
        engine: str = DEFAULT_ENGINE,
    ) -> list[Hit]:
        """Return the k best chunks, ordered by (-score, chunk id); fewer if fewer match.

        Args:
            terms: Terms with integer weights, or a text, which is taken apart by `query`.
            k: How many at most.
            kinds: The kinds of documents to look in; all by default.
            engine: "bm25s" or "rank-bm25", which gives the same answer slowly.

        Raises:
            RagctxError: If k is below 1, a weight is not a positive whole number, a kind or engine is unknown, or the
                index is damaged.
        """
        weighted = self._terms(terms)
        allowed = None if kinds is None else self._mask(kinds)
        ranking = self._guarded(lambda: self._engine(engine).top(weighted, k, allowed), "its postings do not fit")
        found = zip(ranking.chunks.tolist(), ranking.scores.tolist(), strict=True)
        ids = self.chunk_ids
        return self._guarded(lambda: [Hit(n, ids[n], score) for n, score in found], "its chunk ids are not readable")

    def scores(self, terms: Mapping[str, int] | str, *, engine: str = DEFAULT_ENGINE) -> Floats:
        """Return the score of every chunk by number, rounded to 1e-5; 0 is no match."""
        weighted = self._terms(terms)
        return self._guarded(lambda: self._engine(engine).scores(weighted), "its postings do not fit")

    def explain(
        self, terms: Mapping[str, int] | str, chunk_id: str, *, engine: str = DEFAULT_ENGINE
    ) -> list[Contribution]:
        """Return what each term adds to a chunk's score, largest first; rounded to 1e-5, the sum is the score.

        Raises:
            RagctxError: If there is no such chunk.
        """
        chunk = self.chunk_number(chunk_id)
        weighted = self._terms(terms)
        return self._guarded(lambda: self._engine(engine).contributions(weighted, chunk), "its postings do not fit")

    def chunk(self, number: int) -> Chunk:
        """Return a chunk by number.

        Raises:
            IndexError: If there is no such number.
        """
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._guarded(lambda: codec.decode_chunk(self._chunks[number]), f"chunk {number} is not readable")

    def chunk_id(self, number: int) -> str:
        """Return a chunk's id by its number."""
        return self._guarded(lambda: self.chunk_ids[number], "chunk ids are not readable")

    def frequency(self, term: str) -> int:
        """Return how many chunks hold a term."""
        column = self._postings.vocabulary.find(term)
        return 0 if column < 0 else int(self._postings.starts[column + 1] - self._postings.starts[column])

    def chunk_number(self, chunk_id: str) -> int:
        """Return a chunk's number by its id.

        Raises:
            RagctxError: If there is no such chunk.
        """
        number = self.chunk_ids.find(chunk_id)
        if number < 0:
            raise RagctxError(f"there is no chunk '{chunk_id}'", where=str(self.path), remedy="search lists chunk ids")
        return number

    def chunks_of(self, document: int) -> range:
        """Return the numbers of a document's chunks by the document's number."""
        first, end = self._document_chunks[document].tolist()
        return range(first, end)

    def document(self, document_id: str) -> Document:
        """Return a document by its id.

        Raises:
            RagctxError: If there is no such document.
        """
        return self.document_at(self.document_number(document_id))

    def document_number(self, document_id: str) -> int:
        """Return a document's number by its id.

        Raises:
            RagctxError: If there is no such document.
        """
        number = self.document_ids.find(document_id)
        if number < 0:
            raise RagctxError(
                f"there is no document '{document_id}'",
                where=str(self.path),
                remedy="ids are kind/slug; search lists them",
            )
        return number

    def document_at(self, number: int) -> Document:
        """Return a document by its number.

        Raises:
            IndexError: If there is no such number.
        """
        if not 0 <= number < self.documents_count:
            raise IndexError(number)
        return self._guarded(
            lambda: codec.decode_document(self._documents[number]), f"document {number} is not readable"
        )

    def documents(self) -> Iterator[Document]:
        """Yield all documents in the order of their ids, one decoded at a time."""
        return (self.document_at(number) for number in range(self.documents_count))

    def check(self) -> None:
        """Read every file and compare it with the manifest, which opening does not.

        Raises:
            RagctxError: If one differs.
        """
        self._reader.check()

    def _terms(self, terms: Mapping[str, int] | str) -> Mapping[str, int]:
        return self.query(terms) if isinstance(terms, str) else terms

    def _engine(self, name: str) -> Engine:
        known = self._engines.get(name)
        if known is None:
            known = self._engines[name] = engine(name, self._postings)
        return known

    def _mask(self, kinds: Collection[Kind | str]) -> npt.NDArray[np.bool_]:
        wanted = frozenset(str(kind) for kind in kinds)
        mask = self._masks.get(wanted)
        if mask is None:
            unknown = sorted(wanted - {kind.value for kind in Kind})
            if unknown:
                raise RagctxError(
                    f"unknown kind '{unknown[0]}'", remedy=f"use one of: {', '.join(kind.value for kind in Kind)}"
                )
            codes = [code for code, kind in enumerate(Kind) if kind.value in wanted]
            mask = self._masks[wanted] = np.isin(self._chunk_kinds, codes)
        return mask

    def _guarded(self, read: Callable[[], _Read], problem: str) -> _Read:
        """Run something that reads the maps; what only damage can cause becomes the error for it."""
        try:
            return read()
        except (ValueError, IndexError) as error:
            raise damaged(self.path, problem) from error

    def _strings(self, name: str, length: int, keys: npt.NDArray[np.uint64] | None = None) -> SortedStrings:
        blob = self._reader.blob(f"{name}.bin")
        offsets = self._reader.array(f"{name}_offsets", np.int64, length + 1)
        if int(offsets[-1]) != len(blob):
            raise damaged(self.path, f"{name}_offsets.npy does not fit {name}.bin")
        return SortedStrings(blob, offsets, keys)

    def _lines(self, name: str, length: int) -> Lines:
        content = self._reader.blob(f"{name}.jsonl")
        return Lines(self.path, content, self._reader.array(f"{name}_offsets", np.int64, length + 1))

    def _open_postings(self, counts: Mapping[str, int]) -> Postings:
        reader = self._reader
        starts = reader.array("postings_starts", np.int64, counts["terms"] + 1)
        if int(starts[0]) != 0 or int(starts[-1]) != counts["postings"]:
            raise damaged(self.path, "postings_starts.npy does not fit the postings")
        return Postings(
            self._strings("vocabulary", counts["terms"], reader.array("vocabulary_keys", np.uint64, counts["terms"])),
            starts,
            reader.array("postings_chunks", np.int32, counts["postings"]),
            reader.array("postings_scores", np.float64, counts["postings"]),
            reader.array("postings_frequencies", np.uint32, counts["postings"]),
            reader.array("chunk_lengths", np.uint32, counts["chunks"]),
        )


def open_index(path: Path) -> Index:
    """Open an index.

    Args:
        path: The folder given to `ragctx build-index --out`, or a digest folder in it.

    Raises:
        RagctxError: If there is none, it was written by another version of ragctx, or it is damaged; the message has
            the command that builds it again.
    """
    for attempt in range(_ATTEMPTS):
        # Another builder may replace the index between reading `current` and mapping the last file: look again.
        time.sleep(0.01 * attempt)
        folder = find_folder(path)
        try:
            reader = FolderReader(folder)
            _check_versions(reader)
            return Index(reader)
        except FileNotFoundError as error:
            missing = damaged(folder, f"{Path(error.filename or '').name} is missing")
        except PermissionError as error:
            raise RagctxError(f"cannot read the index: {error.strerror}", where=str(folder)) from None
    raise missing


def versions_of_index() -> dict[str, Any]:
    """Return what must be equal for an index to be read: ragctx's version, tokenizer and engine settings."""
    return {"ragctx": __version__, "tokenizer": Tokenizer().settings(), "engine": engine_settings()}


def _check_versions(reader: FolderReader) -> None:
    for name, ours in versions_of_index().items():
        theirs = reader.manifest.get(name)
        if theirs != ours:
            if name == "ragctx":
                raise other_version(reader.folder, f"was written by ragctx {theirs}, this is {ours}")
            raise other_version(reader.folder, f"was written with other {name} settings than this installation's")


def _counts(reader: FolderReader) -> dict[str, int]:
    counts = reader.manifest.get("counts")
    names = ("blocks", "chunks", "documents", "edges", "postings", "terms")
    if not isinstance(counts, dict) or not all(type(counts.get(name)) is int and counts[name] >= 0 for name in names):
        raise damaged(reader.folder, "the manifest's counts are missing")
    return {name: counts[name] for name in names}
