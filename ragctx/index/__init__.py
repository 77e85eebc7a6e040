"""Finding what we know: tokenizer, BM25, the on-disk index, search.

Answering a query needs an opened index only, so what builds one is imported when it is first asked for (PEP 562).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragctx.index.bm25 import ENGINES, Contribution
    from ragctx.index.build import build_index
    from ragctx.index.cache import IndexSpec, Sources, default_cache, ensure_index
    from ragctx.index.environment import Environment, read_environment
    from ragctx.index.index import Edges, Hit, Index, open_index
    from ragctx.index.sources import SHIPPED, index_spec, load_sources, open_corpus
    from ragctx.index.synonyms import SynonymGroup, Synonyms, layered, load_synonyms, synonyms_of
    from ragctx.index.tokenizer import Tokenizer, merge_weights

__all__ = [
    "Contribution",
    "ENGINES",
    "Edges",
    "Environment",
    "Hit",
    "Index",
    "IndexSpec",
    "SHIPPED",
    "Sources",
    "SynonymGroup",
    "Synonyms",
    "Tokenizer",
    "build_index",
    "default_cache",
    "ensure_index",
    "index_spec",
    "layered",
    "load_sources",
    "load_synonyms",
    "merge_weights",
    "open_corpus",
    "open_index",
    "read_environment",
    "synonyms_of",
]

_MODULES: Mapping[str, tuple[str, ...]] = {
    "bm25": (
        "Contribution",
        "ENGINES",
    ),
    "build": ("build_index",),
    "cache": (
        "IndexSpec",
        "Sources",
        "default_cache",
        "ensure_index",
    ),
    "environment": (
        "Environment",
        "read_environment",
    ),
    "index": (
        "Edges",
        "Hit",
        "Index",
        "open_index",
    ),
    "sources": (
        "SHIPPED",
        "index_spec",
        "load_sources",
        "open_corpus",
    ),
    "synonyms": (
        "SynonymGroup",
        "Synonyms",
        "layered",
        "load_synonyms",
        "synonyms_of",
    ),
    "tokenizer": (
        "Tokenizer",
        "merge_weights",
    ),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
