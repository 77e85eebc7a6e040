"""ragctx puts the right documentation in front of a language model that writes code for an API it barely knows.

Importing it does no I/O and imports neither JAX nor NumPy: what is named below is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ragctx.errors import RagctxError

if TYPE_CHECKING:
    from ragctx.context import Context, ContextBuilder, ContextOptions, Section, wrap
    from ragctx.index import Index, build_index, open_corpus, open_index
    from ragctx.verify.run import verify_candidate
    from ragctx.verify.verdict import Verdict
    from ragctx.workload import WorkloadFacts, facts_for

__version__ = "0.1.0"

__all__ = [
    "Context",
    "ContextBuilder",
    "ContextOptions",
    "Index",
    "RagctxError",
    "Section",
    "Verdict",
    "WorkloadFacts",
    "build_index",
    "facts_for",
    "open_corpus",
    "open_index",
    "verify_candidate",
    "wrap",
]

_HOMES = {
    "ragctx.context": ("Context", "ContextBuilder", "ContextOptions", "Section", "wrap"),
    "ragctx.index": ("Index", "build_index", "open_corpus", "open_index"),
    "ragctx.verify.run": ("verify_candidate",),
    "ragctx.verify.verdict": ("Verdict",),
    "ragctx.workload": ("WorkloadFacts", "facts_for"),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'ragctx' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
