"""`ragctx show`."""

from __future__ import annotations

import difflib
import json
from dataclasses import asdict
from typing import Any

import click

from ragctx.cli.common import index_options, open_index_in_force, settings
from ragctx.errors import RagctxError


@click.command("show")
@click.argument("document_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the document with its front matter as JSON.")
@index_options
def command(document_id: str, as_json: bool, **options: Any) -> None:
    """Print one document by its ID (kind/slug, as search prints it; a chunk id prints that chunk)."""
    chosen = settings(
        index=options["index"], corpus=options["corpus"], python=options["python"], engine=options["engine"]
    )
    index = open_index_in_force(chosen, named_index=bool(options["index"]))
    if "#" in document_id and index.chunk_ids.find(document_id) >= 0:
        chunk = index.chunk(index.chunk_number(document_id))
        click.echo(json.dumps(asdict(chunk), indent=2, ensure_ascii=False) if as_json else chunk.text, nl=as_json)
        return
    if index.document_ids.find(document_id) < 0:
        raise RagctxError(f"there is no document '{document_id}'", remedy=_nearest(index, document_id))
    document = index.document(document_id)
    if as_json:
        click.echo(json.dumps(asdict(document), indent=2, ensure_ascii=False, default=str))
        return
    text = document.body.rstrip("\n")
    click.echo(text if text.lstrip().startswith("# ") else f"# {document.title}\n\n{text}")


def _nearest(index: Any, document_id: str) -> str:
    ids = [index.document_ids[n] for n in range(index.documents_count)] if index.documents_count <= 20_000 else []
    last = document_id.rpartition("/")[2].lower()
    near = [i for i in ids if i.rpartition("/")[2].lower() == last or i.lower().endswith(f".{last}")]
    near = near or difflib.get_close_matches(document_id, ids, n=3)
    return f"did you mean {', '.join(near[:3])}" if near else "search lists ids"
