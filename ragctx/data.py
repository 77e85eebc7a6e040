"""Where the shipped data lies: `_data` inside an installed wheel, the checkout otherwise."""

from __future__ import annotations

from pathlib import Path

from ragctx.errors import RagctxError


def root() -> Path:
    """Return the folder that holds corpus/, templates/ and evaluation/.

    Raises:
        RagctxError: If neither the wheel's data nor a checkout is found beside the package.
    """
    package = Path(__file__).resolve().parent
    for candidate in (package / "_data", package.parent):
        if (candidate / "corpus").is_dir() and (candidate / "templates").is_dir():
            return candidate
    raise RagctxError(
        "ragctx's shipped corpus and templates are missing", where=package.name, remedy="reinstall ragctx"
    )


def corpus() -> Path:
    """Return the shipped corpus folder."""
    return root() / "corpus"


def templates() -> Path:
    """Return the shipped template folder."""
    return root() / "templates"


def workloads() -> Path:
    """Return the shipped workload folder."""
    return root() / "evaluation" / "workloads"
