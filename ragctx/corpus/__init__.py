"""What ragctx knows: documents, chunks, loading, the API reference of installed packages."""

from __future__ import annotations

from ragctx.corpus.chunk import chunk_document
from ragctx.corpus.document import Chunk, Document, Kind, Renamed
from ragctx.corpus.files import FoundFile, Layer, Listing, list_files
from ragctx.corpus.load import Corpus, SourceFile, content_digest, layer_digest, load_corpus
from ragctx.corpus.reference import (
    DEFAULT_MODULES,
    ApiReference,
    Filtered,
    LeftOut,
    filter_by_requires,
    merge,
    read_api,
)
from ragctx.corpus.triggers import matching

__all__ = [
    "ApiReference",
    "Chunk",
    "Corpus",
    "DEFAULT_MODULES",
    "Document",
    "Filtered",
    "FoundFile",
    "Kind",
    "Layer",
    "LeftOut",
    "Listing",
    "Renamed",
    "SourceFile",
    "chunk_document",
    "content_digest",
    "filter_by_requires",
    "layer_digest",
    "list_files",
    "load_corpus",
    "matching",
    "merge",
    "read_api",
]
