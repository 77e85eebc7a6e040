"""The command line: one file a command, each a thin shell over a typed library call."""

from __future__ import annotations

from ragctx.cli.main import main

__all__ = ["main"]
