"""From a workload or a task to a prompt prefix under a token budget, and from an error to its supplement."""

from __future__ import annotations

from ragctx.context.builder import ContextBuilder
from ragctx.context.options import (
    DEFAULT_BUDGET_TOKENS,
    DEFAULT_SUPPLEMENT_TOKENS,
    Context,
    ContextOptions,
    Section,
    parse_sections,
)
from ragctx.context.wrapping import wrap

__all__ = [
    "DEFAULT_BUDGET_TOKENS",
    "DEFAULT_SUPPLEMENT_TOKENS",
    "Context",
    "ContextBuilder",
    "ContextOptions",
    "Section",
    "parse_sections",
    "wrap",
]
