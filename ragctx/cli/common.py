"""What several commands share: options, opening the index in force, progress."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ragctx.cli import config
from ragctx.cli.config import Settings
from ragctx.errors import RagctxError
from ragctx.files import decode, read_text

Command = TypeVar("Command", bound=Callable[..., Any])

MAX_STDIN_BYTES = 16 * 1024 * 1024


def index_options(function: Command) -> Command:
    """Add the options that say which index a command uses."""
    decorators = [
        click.option("--index", metavar="DIR", help="An index built by build-index --out; ragctx's own by default."),
        click.option("--corpus", multiple=True, metavar="DIR", help="Corpus folder(s) to use, indexed on first use."),
        click.option("--python", metavar="PATH", help="Interpreter of the environment to read and trace with."),
        click.option("--engine", type=click.Choice(["bm25s", "rank-bm25"]), help="Ranking engine."),
    ]
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


def settings(**flags: Any) -> Settings:
    """Return the settings in force, given the flags of a command."""
    given = {name: value for name, value in flags.items() if value is not None and value != ()}
    return config.load(Settings(**given))


def open_index_in_force(chosen: Settings, *, named_index: bool) -> Any:
    """Open the named index, or ragctx's own for the corpus in force, built first if need be.

    Args:
        chosen: The settings in force.
        named_index: Whether `--index` was given on the command line, so that `--corpus` beside it is a mistake.
    """
    from ragctx.index import ensure_index, index_spec, load_sources, open_index

    if chosen.index and (named_index or not chosen.corpus):
        return open_index(Path(chosen.index))
    spec = index_spec(
        config.corpus_names(chosen),
        modules=chosen.modules or None,
        api=chosen.api is not False,
        python=chosen.python,
    )
    with Progress() as progress:
        return ensure_index(spec, config.cache_folder(chosen) / "index", load_sources, progress=progress.tell)


def builder(chosen: Settings, *, named_index: bool) -> Any:
    """Return a ContextBuilder over the index in force."""
    from ragctx.context import ContextBuilder

    templates = Path(chosen.templates) if chosen.templates else None
    return ContextBuilder(open_index_in_force(chosen, named_index=named_index), templates=templates)


def read_input(name: str, *, what: str) -> str:
    """Return the text of a file, or of standard input for `-`.

    Raises:
        RagctxError: If it cannot be read, is too large or not UTF-8.
    """
    if name != "-":
        return read_text(Path(name), what=what)
    raw = sys.stdin.buffer.read(MAX_STDIN_BYTES + 1)
    if len(raw) > MAX_STDIN_BYTES:
        raise RagctxError(f"more than {MAX_STDIN_BYTES >> 20} MiB", where="standard input", remedy="give less text")
    return decode(raw, where="standard input", what=what)


class Progress:
    """Steps of a build on stderr, where a terminal is there to see them."""

    def __init__(self) -> None:
        self._status: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def tell(self, step: str, done: int, total: int) -> None:
        """Show a step; what is not a terminal sees nothing."""
        if not sys.stderr.isatty():
            return
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status("indexing")
            self._status.start()
        counted = f" {done:,}/{total:,}" if total > 1 else ""
        self._status.update(f"indexing: {step}{counted}")


def note(line: str) -> None:
    """Print a note on stderr."""
    print(f"ragctx: {line}", file=sys.stderr)
