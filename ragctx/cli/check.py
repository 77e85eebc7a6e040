"""`ragctx check`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from ragctx.cli import config
from ragctx.cli.common import read_input, settings
from ragctx.errors import RagctxError

FAILED = 3
"""Exit status of a check that found something."""


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print {versions, findings} as JSON.")
@click.option("--python", metavar="PATH", help="Interpreter whose JAX the files are held against.")
@click.option("--stdin-filename", default="<stdin>", metavar="NAME", help="What findings call standard input.")
def command(files: tuple[str, ...], as_json: bool, python: str | None, stdin_filename: str) -> int:
    """Check how Python FILES use JAX, without running them: names, keywords, and what became of those that are gone.

    A FILE may be a folder, of which every .py file is checked, or - for standard input. Exit status: 0 nothing found,
    3 something found, 1 bad input, 2 usage. What is caught, tested for or never reached is shown as a note and does
    not count.
    """
    from ragctx.verify.api_check import check_source
    from ragctx.verify.guards import ENTRY_POINTS
    from ragctx.verify.symbols import load_table

    chosen = settings(python=python)
    # Everything that a workload file is asked for, not only what a candidate is.
    entries = (*ENTRY_POINTS, "create_inputs", "reference", "get_flops")
    sources = list(_sources(files, stdin_filename))
    table = load_table(chosen.python, folder=config.cache_folder(chosen))
    findings = [
        finding
        for name, text in sources
        for finding in check_source(text, table=table, filename=name, entry_points=entries)
    ]
    if as_json:
        answer = {
            "schema": 1,
            "versions": {"python": table.python, **table.versions},
            "files": len(sources),
            "findings": [finding.as_json() for finding in findings],
        }
        click.echo(json.dumps(answer, ensure_ascii=False))
    else:
        for finding in findings:
            click.echo(str(finding))
    return FAILED if any(not finding.guarded for finding in findings) else 0


def _sources(names: tuple[str, ...], stdin_filename: str) -> Iterator[tuple[str, str]]:
    """Yield the name and text of every file meant."""
    for name in names:
        path = Path(name)
        if name == "-":
            yield stdin_filename, read_input("-", what="Python source")
        elif path.is_dir():
            found = sorted(p for p in path.rglob("*.py") if not _is_hidden(p.relative_to(path)))
            if not found:
                raise RagctxError("no .py file in the folder", where=name, remedy="name another one")
            for file in found:
                yield str(file), read_input(str(file), what="Python source")
        else:
            yield name, read_input(name, what="Python source")


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)
