"""What ragctx knows: documents, chunks, loading, the API reference of installed packages."""

from __future__ import annotations

from ragctx.corpus.document import Chunk, Document, Kind, Renamed
from ragctx.corpus.triggers import matching

__all__ = ["Chunk", "Document", "Kind", "Renamed", "matching"]
