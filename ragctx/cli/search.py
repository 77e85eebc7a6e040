"""`ragctx search`."""

from __future__ import annotations

import json
from typing import Any

import click

from ragctx.cli.common import index_options, open_index_in_force, settings
from ragctx.errors import RagctxError


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("-k", "--count", default=10, show_default=True, metavar="K", help="How many chunks at most.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only hardware, api, example or rule; repeatable.")
@click.option("--explain", "explained", is_flag=True, help="Show which terms scored.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@index_options
def command(query: tuple[str, ...], count: int, kinds: tuple[str, ...], explained: bool, **options: Any) -> None:
    """Search the index and print the best chunks with their scores."""
    text = " ".join(query)
    chosen = settings(
        index=options["index"], corpus=options["corpus"], python=options["python"], engine=options["engine"]
    )
    index = open_index_in_force(chosen, named_index=bool(options["index"]))
    terms = index.query(text)
    if not terms:
        raise RagctxError("the query holds no word to search for", remedy="give words, names or an error text")
    engine = chosen.engine or "bm25s"
    hits = index.search(terms, k=count, kinds=kinds or None, engine=engine)
    rows = []
    for hit in hits:
        chunk = index.chunk(hit.index)
        row: dict[str, Any] = {
            "chunk": hit.id,
            "document": chunk.document,
            "score": hit.score,
            "title": chunk.title,
            "heading": list(chunk.heading),
            "tokens": chunk.tokens,
        }
        if explained:
            row["terms"] = [
                {"term": c.term, "weight": c.weight, "score": round(c.score, 5)}
                for c in index.explain(terms, hit.id, engine=engine)
            ]
        rows.append(row)
    if options["as_json"]:
        click.echo(json.dumps({"query": text, "terms": terms, "hits": rows}, indent=2, ensure_ascii=False))
        return
    for row in rows:
        click.echo(f"{row['score']:10.5f}  {row['chunk']}  {row['title']}")
        for term in row.get("terms", ()):
            click.echo(f"{term['score']:14.5f}  {term['term']} x{term['weight']}")
    if not rows:
        click.echo("ragctx: nothing matches", err=True)
