"""`ragctx verify`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from ragctx.cli import config
from ragctx.cli.common import note, settings
from ragctx.cli.verdict_view import Row, show, table_lines, verdict_lines
from ragctx.errors import RagctxError

# Of many candidates the worst counts: bad input, then failed, then undecided.
_SEVERITY = (0, 4, 3, 1)


@click.command("verify")
@click.argument("candidate", required=False)
@click.option("--workload", "-w", metavar="W", help="Workload file; with --all also a folder of workloads.")
@click.option("--all", "folder", metavar="DIR", help="Every candidate below a folder.")
@click.option("--target", multiple=True, metavar="T", help="Chip to compile for (v6e); may be given several times.")
@click.option("--stages", metavar="A,B", help="Stages to run, with those they rest on; all by default.")
@click.option("--seeds", type=click.IntRange(1, 100), default=3, metavar="N", help="Input seeds to compare (3).")
@click.option("--python", metavar="PATH", help="Interpreter whose JAX counts.")
@click.option("--require-sandbox", is_flag=True, help="Refuse to run anything without bubblewrap.")
@click.option(
    "--min-pallas-share", type=click.FloatRange(0, 1), default=0.5, metavar="X", help="Work inside kernels (0.5)."
)
@click.option("--corpus", multiple=True, metavar="DIR", help="Corpus folder(s) whose documents are named.")
@click.option("--jobs", "-j", type=click.IntRange(1, 1024), metavar="N", help="Candidates at a time (one a core).")
@click.option("--ray", metavar="ADDRESS", help="Judge on a Ray cluster: host:port, auto or local.")
@click.option("--no-cache", is_flag=True, help="Neither look verdicts up nor keep them.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON; with --all one line a candidate.")
def command(candidate: str | None, workload: str | None, folder: str | None, as_json: bool, **options: Any) -> int:
    """Judge a CANDIDATE kernel for a workload without a TPU: API, TPU compiler, numerics, integrity.

    With --all every .py file below DIR is judged. Its workload is the one of --workload; where that is a folder, or not
    given (ragctx's own workloads), the one whose name is part of the file's name or of a folder's above it; or
    workload.py beside it. Exit status: 0 done, 3 failed, 4 undecided, 1 bad input, 2 usage; with --all the worst of
    bad input, failed, undecided, done.
    """
    if (candidate is None) == (folder is None):
        raise click.UsageError("give either a CANDIDATE or --all DIR")
    if folder is None and workload is None:
        raise click.UsageError("give the candidate's --workload")
    chosen = settings(
        python=options["python"], corpus=options["corpus"], target=options["target"][0] if options["target"] else None
    )
    made = _options(chosen, options)
    cache = _cache(chosen, options["no_cache"])
    if candidate is not None:
        assert workload is not None
        return _one(candidate, workload, made, cache, options["ray"], as_json)
    assert folder is not None
    return _many(Path(folder), workload, made, cache, options, as_json)


def _options(chosen: config.Settings, given: dict[str, Any]) -> Any:
    from ragctx.corpus import load_corpus
    from ragctx.index import index_spec
    from ragctx.verify.jobs import JobOptions, targets_of
    from ragctx.verify.stages import as_stages

    stages = None
    if given["stages"] is not None:
        stages = tuple(str(s) for s in as_stages([s.strip() for s in given["stages"].split(",") if s.strip()]))
    documents = load_corpus(index_spec(config.corpus_names(chosen), api=False).layers).documents
    return JobOptions(
        targets=targets_of(given["target"] or ((chosen.target,) if chosen.target else ())),
        stages=stages,
        seeds=tuple(range(given["seeds"])),
        python=chosen.python,
        require_sandbox="bubblewrap" if given["require_sandbox"] else "none",
        min_pallas_share=given["min_pallas_share"],
        documents=tuple(d for d in documents if d.triggers),
        cache=config.cache_folder(chosen),
    )


def _cache(chosen: config.Settings, no_cache: bool) -> Any:
    from ragctx.verify.cache import VerdictCache

    return None if no_cache else VerdictCache(config.cache_folder(chosen) / "verdicts")


def _one(candidate: str, workload: str, options: Any, cache: Any, ray: str | None, as_json: bool) -> int:
    from ragctx.verify.jobs import Job

    job = Job(Path(candidate), Path(workload), options)
    if ray is not None:
        from ragctx.verify.pool import open_pool

        with open_pool(1, ray=ray, cache=cache, expect=job) as pool:
            verdict = next(pool.map([job]))
    else:
        verdict = _here(job, cache)
    if as_json:
        click.echo(json.dumps(verdict.to_json(), ensure_ascii=False))
    else:
        show(verdict_lines(verdict, candidate))
    status: int = verdict.exit_status
    return status


def _here(job: Any, cache: Any) -> Any:
    """Return the verdict on one candidate, judged without a pool: there is nothing to start ahead."""
    from ragctx.verify.cache import verdict_key
    from ragctx.verify.jobs import DEFAULT_JUDGE, read_texts

    key = verdict_key(job, read_texts(job), DEFAULT_JUDGE) if cache is not None else None
    kept = cache.get(key) if key is not None else None
    if kept is not None:
        return kept
    from ragctx.verify.run import verify_candidate

    verdict = verify_candidate(job.candidate, job.workload, **job.options.arguments())
    if key is not None:
        cache.put(key, verdict)
    return verdict


# --- many ---------------------------------------------------------------------------------------------------------


def _many(folder: Path, workload: str | None, options: Any, cache: Any, given: dict[str, Any], as_json: bool) -> int:
    from ragctx.verify.pool import open_pool

    candidates = find_candidates(folder)
    find = workload_finder(folder, workload)
    jobs = list(_jobs(folder, candidates, find, options))
    rows = []
    usable = [job for job in jobs if not isinstance(job, Row)]
    with open_pool(given["jobs"], ray=given["ray"], cache=cache, expect=usable[0] if usable else None) as pool:
        outcomes = pool.outcomes(usable)
        for job in jobs:
            if isinstance(job, Row):
                row = job
            else:
                outcome = next(outcomes)
                row = Row(_below(job.candidate, folder), job.workload.name, outcome.verdict, outcome.error)
            rows.append(row)
            _tell(row, len(rows), len(jobs), as_json)
    show(table_lines(rows), err=as_json)
    worst = max((_SEVERITY.index(1 if row.verdict is None else row.verdict.exit_status) for row in rows), default=0)
    return _SEVERITY[worst]


def _jobs(folder: Path, candidates: Sequence[Path], find: Any, options: Any) -> Iterator[Any]:
    """Yield a job for each candidate, or a finished row for one whose workload is not found."""
    from ragctx.verify.jobs import Job

    for candidate in candidates:
        try:
            yield Job(candidate, find(candidate), options)
        except RagctxError as error:
            yield Row(_below(candidate, folder), "", None, error)


def _tell(row: Row, done: int, total: int, as_json: bool) -> None:
    if as_json:
        result = {"error": str(row.error)} if row.verdict is None else {"verdict": row.verdict.to_json()}
        click.echo(json.dumps({"candidate": row.candidate, "workload": row.workload, **result}, ensure_ascii=False))
    else:
        word = "bad input" if row.verdict is None else row.verdict.kind or row.verdict.stage
        note(f"{done}/{total} {row.candidate}: {word}")


def _below(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def find_candidates(folder: Path) -> list[Path]:
    """Return the Python files below a folder, without workload.py, hidden ones and those that begin with `_`.

    Raises:
        RagctxError: If there is no such folder, or nothing in it.
    """
    if not folder.is_dir():
        raise RagctxError("no such folder", where=str(folder), remedy="check the path")
    found = [
        path
        for path in sorted(folder.rglob("*.py"))
        if path.name != "workload.py" and not any(p[0] in "._" for p in path.relative_to(folder).parts)
    ]
    if not found:
        raise RagctxError("no candidate (.py file) below the folder", where=str(folder), remedy="name another one")
    return found


def workload_finder(folder: Path, workload: str | None) -> Any:
    """Return the function that finds a candidate's workload.

    Args:
        folder: The folder of --all.
        workload: A workload for all of them, a folder to look in, or None for ragctx's own workloads.

    Raises:
        RagctxError: If a folder to look in holds no workload.
    """
    from ragctx import data

    if workload is not None and not Path(workload).is_dir():
        return lambda candidate: Path(workload)
    place = data.workloads() if workload is None else Path(workload)
    known = {path.stem: path for path in sorted(place.glob("*.py")) if path.name[0] not in "._"}
    if not known:
        raise RagctxError("no workload (.py file) in the folder", where=str(place), remedy="name another one")

    def find(candidate: Path) -> Path:
        beside = candidate.with_name("workload.py")
        if workload is None and beside.is_file():
            return beside
        parts = candidate.relative_to(folder).with_suffix("").parts
        for name in (*reversed(parts), folder.resolve().name):
            named = [stem for stem in known if _names(stem, name)]
            if named:
                return known[max(named, key=len)]
        raise RagctxError(
            f"no workload of {place} is named by it or a folder above it",
            where=str(candidate),
            remedy="name the file after its workload, or give --workload",
        )

    return find


def _names(workload: str, name: str) -> bool:
    """Return whether a name is a workload's, alone or as whole words of a longer one: `8p_GEMM-003`."""
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(workload)}(?![A-Za-z0-9])", name) is not None
