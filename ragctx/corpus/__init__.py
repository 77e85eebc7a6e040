"""What ragctx knows: documents, chunks, loading, the API reference of installed packages.

Answering a query needs documents and chunks only, so the rest is imported when it is first asked for (PEP 562).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ragctx.corpus.document import Chunk, Document, Kind, Renamed

if TYPE_CHECKING:
    from ragctx.corpus.chunk import chunk_document
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

_MODULES: Mapping[str, tuple[str, ...]] = {
    "chunk": ("chunk_document",),
    "files": ("FoundFile", "Layer", "Listing", "list_files"),
    "load": ("Corpus", "SourceFile", "content_digest", "layer_digest", "load_corpus"),
    "reference": (
        "ApiReference",
        "DEFAULT_MODULES",
        "Filtered",
        "LeftOut",
        "filter_by_requires",
        "merge",
        "read_api",
    ),
    "triggers": ("matching",),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
