"""Writes docs/cli.md from the commands' own --help: `make docs`; a test holds the file against it."""

from __future__ import annotations

import sys
from pathlib import Path

from click.testing import CliRunner

from ragctx.cli.main import COMMANDS, cli

PLACE = Path(__file__).resolve().parent / "cli.md"


def text() -> str:
    """Return the page: the help of `ragctx` and of each command, 100 columns wide."""
    runner = CliRunner()
    parts = ["# The command line", "", "Made from `--help` by `make docs`.", ""]
    for words in ([], *([name] for name in COMMANDS)):
        title = " ".join(["ragctx", *words])
        done = runner.invoke(cli, [*words, "--help"], prog_name="ragctx", terminal_width=100, catch_exceptions=False)
        help_text = "\n".join(line.rstrip() for line in done.output.rstrip().splitlines())
        parts += [f"## {title}", "", "```text", help_text, "```", ""]
    return "\n".join(parts)


if __name__ == "__main__":
    PLACE.write_text(text(), encoding="utf-8")
    sys.exit(0)
