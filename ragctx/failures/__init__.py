"""Kinds of failure: the closed list, what each means, and which one an exception's text belongs to."""

from ragctx.failures.kinds import FailureKind, explanation
from ragctx.failures.text import classify, first_line

__all__ = ["FailureKind", "classify", "explanation", "first_line"]
