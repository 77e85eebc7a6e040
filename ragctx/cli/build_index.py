"""`ragctx build-index`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ragctx.cli import config
from ragctx.cli.common import Progress, note, settings


@click.command("build-index")
@click.option(
    "--corpus", multiple=True, metavar="DIR", help="Corpus folder, lowest layer first; 'shipped' is ragctx's."
)
@click.option("--module", "modules", multiple=True, metavar="M", help="Module whose API reference is read.")
@click.option("--no-api", is_flag=True, help="No API reference of installed packages.")
@click.option("--python", metavar="PATH", help="Interpreter of the environment whose packages are read.")
@click.option("--out", metavar="DIR", help="Where to put the index; by default ragctx's cache keeps it.")
@click.option("--json", "as_json", is_flag=True, help="Print what was built as JSON.")
def command(
    corpus: tuple[str, ...], modules: tuple[str, ...], no_api: bool, python: str | None, out: str | None, as_json: bool
) -> None:
    """Index a corpus together with the API reference of installed packages.

    Anyone's folder of Markdown is a corpus. Without --corpus, ragctx's own is indexed with the reference of the
    installed JAX Pallas modules. The same document id in a later --corpus replaces the earlier one.
    """
    from ragctx.index import build_index, ensure_index, index_spec, load_sources, read_environment

    chosen = settings(corpus=corpus, modules=modules, api=False if no_api else None, python=python)
    spec = index_spec(
        config.corpus_names(chosen),
        modules=chosen.modules or None,
        api=chosen.api is not False,
        python=chosen.python,
    )
    with Progress() as progress:
        if out is None:
            index = ensure_index(
                spec, config.cache_folder(chosen) / "index", load_sources, progress=progress.tell, rebuild=True
            )
        else:
            sources = load_sources(spec, read_environment(spec.python))
            index = build_index(
                sources.documents,
                Path(out),
                synonyms=sources.synonyms,
                manifest_extra={**sources.manifest, "consulted": dict(sorted(sources.consulted.items()))},
                progress=progress.tell,
            )
    _report(index, as_json)


def _report(index: Any, as_json: bool) -> None:
    manifest = index.manifest
    for line in manifest.get("notes", ()):
        note(line)
    for entry in manifest.get("left_out", ()):
        note(f"left out {entry['document']}: {entry['reason']}")
    counts = manifest["counts"]
    if as_json:
        summary = {
            "path": str(index.path),
            "digest": index.digest,
            "documents": counts["documents"],
            "chunks": counts["chunks"],
            "versions": manifest.get("versions", {}),
            "left_out": manifest.get("left_out", []),
            "notes": manifest.get("notes", []),
        }
        click.echo(json.dumps(summary, indent=2, ensure_ascii=False))
        return
    versions = ", ".join(f"{name} {version}" for name, version in manifest.get("versions", {}).items())
    suffix = f" (versions: {versions})" if versions else ""
    click.echo(f"{counts['documents']} documents in {counts['chunks']} chunks: {index.path}{suffix}")
