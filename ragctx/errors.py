"""The one error class that reaches a user, and how it reads."""

from __future__ import annotations


class RagctxError(Exception):
    """Bad input or a failed precondition, said in one line: what, where, what to do.

    The command line prints it to stderr as one line and exits with `exit_status`; library callers catch it.

    Args:
        problem: What is wrong, without a trailing full stop.
        where: The file (with line and key where there is one), setting or option it is wrong in.
        remedy: What the reader can do about it.
    """

    exit_status = 1

    def __init__(self, problem: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.problem = problem
        self.where = where
        self.remedy = remedy
        super().__init__(problem)

    def __str__(self) -> str:
        """Return the single line shown to a user; control characters and line breaks are folded to spaces."""
        line = f"{self.where}: {self.problem}" if self.where else self.problem
        if self.remedy:
            line = f"{line}; {self.remedy}"
        return " ".join("".join(c if c.isprintable() else " " for c in line).split())


def missing_extra(extra: str, what: str) -> RagctxError:
    """Return the error for a feature whose optional dependency is not installed."""
    return RagctxError(f"{what} needs the '{extra}' extra", remedy=f'run: pip install "ragctx[{extra}]"')
