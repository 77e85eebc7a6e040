"""What ragctx knows: documents, chunks, loading, the API reference of installed packages."""

from __future__ import annotations

from ragctx.corpus.chunk import chunk_document
from ragctx.corpus.document import Chunk, Document, Kind, Renamed
from ragctx.corpus.files import FoundFile, Layer, Listing, list_files
from ragctx.corpus.load import Corpus, SourceFile, content_digest, layer_digest, load_corpus
from ragctx.corpus.triggers import matching

__all__ = [
    "Chunk",
    "Corpus",
    "Document",
    "FoundFile",
    "Kind",
    "Layer",
    "Listing",
    "Renamed",
    "SourceFile",
    "chunk_document",
    "content_digest",
    "layer_digest",
    "list_files",
    "load_corpus",
    "matching",
]
