"""What the API check says of one place in a file."""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragctx.failures import FailureKind


class Guard(enum.StrEnum):
    """Why a finding is only a note: the line may never run, or its error is caught."""

    NONE = ""
    CAUGHT = "its error is caught"
    TESTED = "behind a test of what is installed"
    UNREACHED = "in code that nothing here calls"
    OTHER_PYTHON = "the interpreter's Python is newer than this one"


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a file: lines and columns count from 1, columns in characters; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    @classmethod
    def of(cls, node: ast.AST, lines: Sequence[str]) -> Span:
        """Return the place of a syntax tree node in the text that `lines` are the lines of."""
        line, start = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line = getattr(node, "end_lineno", None) or line
        end = getattr(node, "end_col_offset", None)
        return cls(
            line,
            _characters(lines, line, start) + 1,
            end_line,
            _characters(lines, end_line, start if end is None else end) + 1,
        )


def _characters(lines: Sequence[str], line: int, offset: int) -> int:
    """Return how many characters the first `offset` UTF-8 bytes of a line are."""
    if line > len(lines):
        return offset
    return len(lines[line - 1].encode("utf-8")[:offset].decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Finding:
    """One wrong use of an API, or a syntax error.

    Attributes:
        kind: `syntax`, `api_name`, `api_keyword` or `undefined_name`.
        file: The file as it was named.
        line: Where it starts, from 1.
        column: Likewise, in characters.
        end_line: Where it ends.
        end_column: Likewise; the first column after it.
        message: What is wrong, one line.
        suggestion: What to write instead, one line, or "".
        symbol: The name it is about, by its usual alias (`pltpu.TPUCompilerParams`), or "".
        guard: Why it is only a note, or `Guard.NONE`.
        conditional: Whether it lies under an ordinary condition (`if causal:`), so that a run need not meet it.
    """

    kind: FailureKind
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    suggestion: str = ""
    symbol: str = ""
    guard: Guard = Guard.NONE
    conditional: bool = False

    @property
    def guarded(self) -> bool:
        """Whether it is only a note."""
        return self.guard is not Guard.NONE

    def __str__(self) -> str:
        """Return `file:line:column: kind: message; suggestion`, a note marked as one."""
        text = f"{self.message}; {self.suggestion}" if self.suggestion else self.message
        note = f"note ({self.guard}): " if self.guarded else ""
        return f"{self.file}:{self.line}:{self.column}: {self.kind}: {note}{text}"

    def as_json(self) -> dict[str, Any]:
        """Return the finding as JSON-serialisable values."""
        return {**asdict(self), "kind": str(self.kind), "guard": str(self.guard), "guarded": self.guarded}
