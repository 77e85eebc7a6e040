"""One job of a pool: a candidate, the workload it is for, and the options; and its form on the way to a worker.

A worker may be another process or another machine, so a job travels as JSON, by path where both see the same files and
by content otherwise. Judges are named, not sent: `package.module:function`, or `/path/to/file.py:function`.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ragctx import targets as chips
from ragctx.corpus.document import Document, Kind
from ragctx.errors import RagctxError
from ragctx.files import read_text
from ragctx.verify.limits import Limits
from ragctx.verify.run import StageLimits
from ragctx.verify.verdict import Verdict

DEFAULT_JUDGE = "ragctx.verify.run:verify_candidate"
MOST_NEIGHBOUR_BYTES = 16 << 20

RequireSandbox = Literal["none", "subprocess", "bubblewrap"]
Judge = Callable[..., Verdict]


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What shapes a verdict besides candidate and workload: the arguments of `verify_candidate`.

    Attributes:
        targets: Chips to compile for.
        stages: Stages to run, or None for all.
        seeds: Input seeds to compare.
        python: Interpreter whose JAX counts, or None for the worker's own.
        require_sandbox: The least isolation that will do.
        min_pallas_share: Least share of the work that must happen inside pallas_call.
        limits: Limits of each process.
        stage_limits: CPU-seconds a stage.
        documents: Documents whose triggers are matched with the error; only what matching needs travels.
        cache: Folder for described workloads and symbol tables, or None for the user's; it is no part of what a
            verdict hangs on, and another machine takes its own.
    """

    targets: tuple[str, ...] = (chips.DEFAULT_TARGET,)
    stages: tuple[str, ...] | None = None
    seeds: tuple[int, ...] = (0, 1, 2)
    python: str | None = None
    require_sandbox: RequireSandbox = "none"
    min_pallas_share: float = 0.5
    limits: Limits = Limits()
    stage_limits: StageLimits = StageLimits()
    documents: tuple[Document, ...] = ()
    cache: Path | None = None

    def arguments(self) -> dict[str, Any]:
        """Return them as keyword arguments of `verify_candidate`."""
        return {
            "targets": self.targets,
            "stages": self.stages,
            "seeds": self.seeds,
            "python": self.python,
            "require_sandbox": self.require_sandbox,
            "min_pallas_share": self.min_pallas_share,
            "limits": self.limits,
            "stage_limits": self.stage_limits,
            "corpus_documents": self.documents,
            "cache": self.cache,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the form that travels."""
        documents = [
            {"id": d.id, "kind": d.kind, "title": d.title, "triggers": list(d.triggers)}
            for d in self.documents
            if d.triggers
        ]
        return {
            **{name: value for name, value in self.arguments().items() if name != "corpus_documents"},
            "limits": asdict(self.limits),
            "stage_limits": asdict(self.stage_limits),
            "documents": documents,
            "cache": None if self.cache is None else os.path.abspath(self.cache),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> JobOptions:
        """Return the options of `to_json`'s form."""
        fields = dict(value)
        for name in ("targets", "stages", "seeds"):
            fields[name] = None if fields[name] is None else tuple(fields[name])
        fields["cache"] = None if fields["cache"] is None else Path(fields["cache"])
        fields["limits"] = Limits(**fields["limits"])
        fields["stage_limits"] = StageLimits(**fields["stage_limits"])
        fields["documents"] = tuple(
            Document(d["id"], Kind(d["kind"]), d["title"], "", triggers=tuple(d["triggers"]))
            for d in fields["documents"]
        )
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class Job:
    """One candidate to judge."""

    candidate: Path
    workload: Path
    options: JobOptions = JobOptions()


@dataclass(frozen=True, slots=True)
class Texts:
    """What a job's files said when it was handed in.

    Attributes:
        candidate: The candidate's text.
        workload: Text by path relative to the workload's folder: the workload, and what it imports from beside it.
    """

    candidate: str
    workload: Mapping[str, str]


def read_texts(job: Job) -> Texts:
    """Return the texts of a job's files.

    Raises:
        RagctxError: If one cannot be read, or the workload imports more than 16 MiB from beside it.
    """
    return Texts(read_text(job.candidate, what="candidate"), workload_texts(job.workload))


def workload_texts(workload: Path) -> dict[str, str]:
    """Return a workload's text and that of the modules beside it which it imports, by relative path.

    Raises:
        RagctxError: If the workload cannot be read, or imports more than 16 MiB from beside it.
    """
    texts = {workload.name: read_text(workload, what="workload")}
    queue, total = [workload.name], 0
    while queue:
        for path in _imported(texts[queue.pop()], workload.parent):
            name = path.relative_to(workload.parent).as_posix()
            if name in texts:
                continue
            texts[name] = read_text(path, what="module beside the workload")
            total += len(texts[name])
            if total > MOST_NEIGHBOUR_BYTES:
                raise RagctxError("imports more than 16 MiB of modules from beside it", where=str(workload))
            queue.append(name)
    return dict(sorted(texts.items()))


def _imported(text: str, folder: Path) -> list[Path]:
    """Return the files below a folder that a module's imports reach: `x.py`, or all of the package `x/`."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # the judge says what is wrong with it
    roots: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.partition(".")[0])
    found = []
    for root in sorted(roots):
        if (folder / f"{root}.py").is_file():
            found.append(folder / f"{root}.py")
        elif (folder / root).is_dir():
            found += sorted((folder / root).rglob("*.py"))
    return found


# --- on the way ---------------------------------------------------------------------------------------------------


def by_path(job: Job) -> dict[str, Any]:
    """Return the job for a worker that sees the same files."""
    return {
        "candidate": os.path.abspath(job.candidate),
        "workload": os.path.abspath(job.workload),
        "options": job.options.to_json(),
    }


def by_content(job: Job, texts: Texts) -> dict[str, Any]:
    """Return the job for a worker that may be another machine."""
    return {
        "candidate": _carried(job.candidate, {job.candidate.name: texts.candidate}),
        "workload": _carried(job.workload, dict(texts.workload)),
        "options": {**job.options.to_json(), "cache": None},
    }


def _carried(path: Path, files: Mapping[str, str]) -> dict[str, Any]:
    return {"name": path.name, "shown": str(path), "files": files}


def shown(named: str | Mapping[str, Any]) -> str:
    """Return what the sender calls a file of a travelling job."""
    return named if isinstance(named, str) else str(named["shown"])


def without_candidate(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a worker can be told ahead of its job: the next one is probably for the same workload."""
    return {name: value for name, value in wire.items() if name != "candidate"}


def place(named: str | Mapping[str, Any], folder: Path) -> Path:
    """Return the file of a travelling job, written below `folder` if it came by content.

    Equal files get equal paths and times, so that what is derived from them is found again.
    """
    if isinstance(named, str):
        return Path(named)
    digest = hashlib.sha256(repr(sorted(named["files"].items())).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    root = folder / digest
    for name, text in sorted(named["files"].items()):
        parts = Path(name).parts
        if Path(name).is_absolute() or ".." in parts:
            raise RagctxError("a file of a job must lie below its folder", where=name)
        path = root.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (0, 0))
    for path in (root, *root.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return root / str(named["name"])


# --- judges -------------------------------------------------------------------------------------------------------


def judge_name(judge: str | Judge) -> str:
    """Return the name a worker finds a judge by.

    Raises:
        ValueError: If it is not a function at the top of a module's file.
    """
    if isinstance(judge, str):
        return judge
    if "<" in judge.__qualname__ or "." in judge.__qualname__:
        raise ValueError("a judge must be a function at the top of a module: workers find it by name")
    return f"{os.path.abspath(inspect.getfile(judge))}:{judge.__qualname__}"


def find_judge(name: str) -> Callable[..., Any]:
    """Return the function a name stands for.

    Raises:
        RagctxError: If there is none.
    """
    module_name, _, function = name.rpartition(":")
    try:
        if module_name.endswith(".py"):
            spec = importlib.util.spec_from_file_location(f"ragctx_judge_{Path(module_name).stem}", module_name)
            if spec is None or spec.loader is None:
                raise ImportError(module_name)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(module_name)
        found: Callable[..., Any] = getattr(module, function)
    except (ImportError, AttributeError, ValueError, OSError) as error:
        raise RagctxError(f"no such judge: {error}", where=name) from None
    return found


def targets_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return target names, checked.

    Raises:
        RagctxError: If there is none of that name, or one is named twice.
    """
    for name in names:
        chips.get(name)
    if len(set(names)) != len(names):
        raise RagctxError("the same target is named twice", where="--target")
    return tuple(names) or (chips.DEFAULT_TARGET,)
