"""Finding what we know: tokenizer, BM25, the on-disk index, search."""

from __future__ import annotations

from ragctx.index.bm25 import ENGINES, Contribution
from ragctx.index.build import build_index
from ragctx.index.cache import IndexSpec, Sources, default_cache, ensure_index
from ragctx.index.environment import Environment, environment
from ragctx.index.index import Edges, Hit, Index, open_index
from ragctx.index.sources import SHIPPED, index_spec, load_sources
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
    "environment",
    "index_spec",
    "layered",
    "load_sources",
    "load_synonyms",
    "merge_weights",
    "open_index",
    "synonyms_of",
]
