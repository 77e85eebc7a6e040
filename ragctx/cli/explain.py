"""`ragctx explain`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from ragctx.cli.common import builder, index_options, note, read_input, settings
from ragctx.cli.context import prefix_options
from ragctx.errors import RagctxError

# One word with a folder and an ending is a mistyped path, not an error text.
_PATH = re.compile(r"[~./]?[\w.-]*(?:/[\w.-]+)+\.(?:txt|log|out|err|md|json)")


@click.command("explain")
@click.argument("error", nargs=-1, required=True)
@click.option("--budget", type=int, metavar="N", help="Tokens the documents may take (1500).")
@click.option("--target", metavar="T", help="TPU target whose documents are meant.")
@click.option("--json", "as_json", is_flag=True, help="Print {text, manifest} as JSON.")
@index_options
def command(error: tuple[str, ...], budget: int | None, target: str | None, as_json: bool, **options: Any) -> None:
    """Print the documents that address an ERROR: its text, a file that holds it, or - for standard input."""
    from ragctx.context import DEFAULT_SUPPLEMENT_TOKENS

    text = error_text(error)
    if not text.strip():
        raise RagctxError("the error text is empty", remedy="give its message, a file, or - for standard input")
    chosen = settings(
        index=options["index"],
        corpus=options["corpus"],
        python=options["python"],
        engine=options["engine"],
        target=target,
        supplement=budget,
    )
    made = builder(chosen, named_index=bool(options["index"]))
    context = made.supplement(
        text,
        budget=chosen.supplement if chosen.supplement is not None else DEFAULT_SUPPLEMENT_TOKENS,
        options=prefix_options(chosen, None),
    )
    if as_json:
        click.echo(json.dumps({"text": context.text, "manifest": context.manifest}, ensure_ascii=False))
        return
    if not context.text:
        note("no document addresses this error")
    click.echo(context.text, nl=False)


def error_text(words: tuple[str, ...]) -> str:
    """Return the error meant by the arguments: standard input, the file of that name, or the words themselves."""
    if len(words) == 1:
        if words[0] == "-":
            return read_input("-", what="error text")
        try:
            is_file = Path(words[0]).is_file()
        except (OSError, ValueError):
            is_file = False
        if is_file or _PATH.fullmatch(words[0]):
            return read_input(words[0], what="error text")
    return " ".join(words)
