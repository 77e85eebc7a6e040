"""`ragctx context`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ragctx.cli.common import builder, index_options, note, read_input, settings
from ragctx.errors import RagctxError
from ragctx.files import write_atomic


@click.command("context")
@click.argument("workload", required=False, metavar="[WORKLOAD]")
@click.option(
    "--task", metavar="TEXT", help="A task in plain words instead of a workload file; - reads standard input."
)
@click.option("--budget", type=int, metavar="N", help="Tokens the text may take (8000; a supplement 1500).")
@click.option("--target", metavar="T", help="TPU target: v4, v5e, v5p, v6e (default), tpu7x.")
@click.option("--sections", metavar="A,B", help="Only these sections: hardware, rules, api, examples, facts.")
@click.option("--without", metavar="A,B", help="All sections but these.")
@click.option("--error", metavar="FILE", help="Print the supplement for the error text in FILE (- for standard input).")
@click.option("--shown", multiple=True, metavar="FILE", help="Manifest of what was shown; nothing in it is repeated.")
@click.option("--manifest", metavar="FILE", help="Write the manifest to FILE.")
@click.option("--no-trace", is_flag=True, help="Read the workload as text; import nothing.")
@click.option("--templates", metavar="DIR", help="Templates laid over the shipped ones.")
@click.option("--json", "as_json", is_flag=True, help="Print {text, manifest} as JSON.")
@index_options
def command(workload: str | None, task: str | None, **options: Any) -> None:
    """Print the prompt prefix for a WORKLOAD file or a --task; with --error the supplement for an error.

    The prefix goes before an agent's prompt. For equal input it is equal byte for byte. The index of the corpus in
    force is built on first use.
    """
    if task is not None and workload is not None:
        raise click.UsageError("give a WORKLOAD or --task, not both")
    if options["error"] is None and task is None and workload is None:
        raise click.UsageError("give a WORKLOAD file or --task TEXT")
    if options["error"] is not None and task is not None:
        raise click.UsageError("--error is for the supplement alone: leave out --task")
    if options["error"] is not None and workload is not None:
        raise click.UsageError("--error is for the supplement alone: leave out the WORKLOAD")
    if options["shown"] and options["error"] is None:
        raise click.UsageError("--shown goes with --error: a prefix repeats nothing")
    if options["index"] and options["corpus"]:
        raise click.UsageError("give --index or --corpus, not both")
    if options["sections"] and options["without"]:
        raise click.UsageError("give --sections or --without, not both")
    chosen = settings(
        index=options["index"],
        corpus=options["corpus"],
        python=options["python"],
        engine=options["engine"],
        templates=options["templates"],
        target=options["target"],
        sections=tuple(options["sections"].split(",")) if options["sections"] else (),
        **{"budget" if options["error"] is None else "supplement": options["budget"]},
    )
    context = _supplement(chosen, options) if options["error"] is not None else _prefix(chosen, workload, task, options)
    if options["manifest"]:
        write_atomic(Path(options["manifest"]), json.dumps(context.manifest, indent=2, ensure_ascii=False) + "\n")
    for line in context.manifest["notes"]:
        note(line)
    if task is not None and not any(c["reason"].startswith(("matches", "needed")) for c in context.manifest["chunks"]):
        note("nothing in the corpus matches this task")
    if options["error"] is not None and not context.text:
        note("no document addresses this error")
    if options["as_json"]:
        click.echo(json.dumps({"text": context.text, "manifest": context.manifest}, ensure_ascii=False))
    else:
        click.echo(context.text, nl=False)


def _prefix(chosen: Any, workload: str | None, task: str | None, options: dict[str, Any]) -> Any:
    from ragctx.workload import facts_for, read_workload

    shape = prefix_options(chosen, options["without"])
    if task is not None:
        text = read_input("-", what="task") if task == "-" else task
        if not text.strip():
            raise RagctxError("the task is empty", where="--task", remedy="say what the code should do")
        return builder(chosen, named_index=bool(options["index"])).prefix(task=text, options=shape)
    assert workload is not None
    # A workload that cannot be read is said before an index is built for it.
    read_workload(Path(workload))
    made = builder(chosen, named_index=bool(options["index"]))
    facts = facts_for(Path(workload), target=shape.target, trace=not options["no_trace"], python=chosen.python)
    return made.prefix(facts, options=shape)


def _supplement(chosen: Any, options: dict[str, Any]) -> Any:
    from ragctx.context import DEFAULT_SUPPLEMENT_TOKENS

    error = read_input(options["error"], what="error text")
    shown = [_manifest(Path(name)) for name in options["shown"]]
    made = builder(chosen, named_index=bool(options["index"]))
    return made.supplement(
        error,
        shown=shown,
        budget=chosen.supplement if chosen.supplement is not None else DEFAULT_SUPPLEMENT_TOKENS,
        options=prefix_options(replace(chosen, sections=()), None),
    )


def prefix_options(chosen: Any, without: str | None) -> Any:
    """Return the ContextOptions of the settings in force, less the sections of `--without`."""
    from ragctx.context import DEFAULT_BUDGET_TOKENS, ContextOptions, Section, parse_sections
    from ragctx.targets import DEFAULT_TARGET

    sections = parse_sections(chosen.sections) if chosen.sections else tuple(Section)
    if without:
        left_out = parse_sections(without.split(","), where="--without")
        sections = tuple(section for section in sections if section not in left_out)
    return ContextOptions(
        budget_tokens=chosen.budget if chosen.budget is not None else DEFAULT_BUDGET_TOKENS,
        sections=sections,
        target=chosen.target or DEFAULT_TARGET,
        engine=chosen.engine or "bm25s",
    )


def _manifest(path: Path) -> Any:
    text = read_input(str(path), what="manifest")
    try:
        value = json.loads(text)
    except ValueError as error:
        raise RagctxError(f"not JSON: {error}", where=str(path), remedy="give a file that --manifest wrote") from None
    if isinstance(value, dict) and "manifest" in value:
        value = value["manifest"]
    chunks = value.get("chunks") if isinstance(value, dict) else None
    if not isinstance(chunks, list) or not all(isinstance(c, dict) and isinstance(c.get("chunk"), str) for c in chunks):
        raise RagctxError("not a manifest", where=str(path), remedy="give a file that --manifest wrote")
    return value
