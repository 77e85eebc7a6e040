"""Verdicts kept on disk, by a digest of everything that shapes them.

A verdict that hangs on the machine (a limit reached, a crash, a measured time) is never kept. Entries are JSON files
`xx/<digest>.json`, renamed in; one that cannot be read is a miss.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

import ragctx
from ragctx.children import run_script
from ragctx.errors import RagctxError
from ragctx.failures import FailureKind
from ragctx.files import read_text, write_atomic
from ragctx.verify.jobs import Job, Texts
from ragctx.verify.verdict import SCHEMA, Verdict

FORMAT = 1
PACKAGES = ("jax", "jaxlib", "libtpu", "numpy")
# Decided by how fast or how large this machine is, or by what else runs on it.
_OF_THE_MACHINE = frozenset({FailureKind.TIMEOUT, FailureKind.DEADLOCK, FailureKind.CRASH})
_MOST_BYTES = 4 << 20


class VerdictCache:
    """A folder of verdicts; safe to share between processes.

    Args:
        folder: Where it lies; made when the first verdict is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str) -> Verdict | None:
        """Return the verdict of a key, or None."""
        try:
            with open(self._path(key), "rb") as stream:
                raw = stream.read(_MOST_BYTES + 1)
            entry = json.loads(raw) if len(raw) <= _MOST_BYTES else None
            if not isinstance(entry, dict) or entry.get("key") != key:
                return None
            verdict = Verdict.from_json(entry["verdict"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return verdict if cacheable(verdict) else None

    def put(self, key: str, verdict: Verdict) -> bool:
        """Keep a verdict unless it hangs on the machine; return whether it was kept. A full disk keeps nothing."""
        if not cacheable(verdict):
            return False
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, json.dumps({"key": key, "verdict": verdict.to_json()}, ensure_ascii=False))
        except (OSError, RagctxError):
            return False
        return True

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def default_folder() -> Path:
    """Return the folder of verdicts in the user's cache folder."""
    import platformdirs

    return platformdirs.user_cache_path("ragctx", appauthor=False) / "verdicts"


def cacheable(verdict: Verdict) -> bool:
    """Return whether a verdict would be the same on any machine."""
    return verdict.passed is not None and verdict.kind not in _OF_THE_MACHINE and verdict.latency_measured is None


def verdict_key(job: Job, texts: Texts, judge: str) -> str:
    """Return the digest of everything that shapes a job's verdict.

    Folders and times are no part of it; the names of the files are, because notes quote them.

    Args:
        job: The job.
        texts: What its files say.
        judge: Name of the judge.

    Raises:
        RagctxError: If the job's interpreter cannot be run.
    """
    shape = {
        "format": FORMAT,
        "schema": SCHEMA,
        "judge": [judge, _judge_text(judge)],
        "candidate": [job.candidate.name, texts.candidate],
        "workload": [job.workload.name, dict(texts.workload)],
        # The interpreter's versions count, not its place; where other things are cached does not count at all.
        "options": {**job.options.to_json(), "python": None, "cache": None},
        "versions": dict(interpreter_versions(job.options.python)),
        "ragctx": [ragctx.__version__, own_digest()],
    }
    text = json.dumps(shape, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def _judge_text(judge: str) -> str:
    """Return the text of a judge that is named by its file; any other is ragctx's own."""
    file = judge.rpartition(":")[0]
    return read_text(Path(file), what="judge") if file.endswith(".py") else ""


@functools.cache
def own_digest() -> str:
    """Return a digest of ragctx's own code and data that verdicts hang on: a checkout changes without a version."""
    root = Path(ragctx.__file__).resolve().parent
    digest = hashlib.sha256()
    places = [root / "verify", root / "_child", root / "failures", *root.glob("*.py")]
    files = [p for place in places for p in (sorted(place.rglob("*.py")) if place.is_dir() else [place])]
    for path in files:
        with contextlib.suppress(OSError):
            digest.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    with contextlib.suppress(OSError, RagctxError):
        from ragctx import data

        digest.update((data.corpus() / "renames.yaml").read_bytes())
    return digest.hexdigest()


def interpreter_versions(python: str | None) -> Mapping[str, str]:
    """Return the versions under an interpreter that verdicts hang on, its own and the machine's kind included.

    Args:
        python: The interpreter; None for this one.

    Raises:
        RagctxError: If it cannot be run.
    """
    if python is None or os.path.abspath(python) == os.path.abspath(sys.executable):
        return _versions(tuple(sys.path), platform.python_version())
    return _asked(python)


@functools.cache
def _asked(python: str) -> Mapping[str, str]:
    answer = run_script("search_path.py", None, python=python, timeout_s=60).answer
    if not isinstance(answer, dict):
        raise RagctxError("cannot run the interpreter", where=python, remedy="name a Python 3 executable")
    return _versions(tuple(answer["path"]), answer["python"])


@functools.cache
def _versions(path: tuple[str, ...], python: str) -> Mapping[str, str]:
    found = {"python": python, "machine": f"{platform.system()} {platform.machine()}"}
    for name in PACKAGES:
        distribution = next(iter(importlib.metadata.distributions(name=name, path=list(path))), None)
        if distribution is not None:
            found[name] = distribution.version
    return found
