"""What a workload expects of a candidate: its sizes, shapes and result types, asked of a child and kept on disk."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragctx.children import SCRIPTS, run_script
from ragctx.errors import RagctxError
from ragctx.files import read_text, write_atomic
from ragctx.verify.interpreter import interpreter_paths

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Reference:
    """A described workload.

    Attributes:
        workload: The file.
        facts: The answer of `_child/verify_reference.py`.
    """

    workload: Path
    facts: Mapping[str, Any]

    @property
    def mesh(self) -> Mapping[str, int]:
        """Axes and sizes of the workload's device mesh; empty for a single device."""
        mesh: Mapping[str, int] = self.facts["mesh"]
        return mesh

    @property
    def devices(self) -> int:
        """Number of devices it runs on."""
        count = 1
        for size in self.mesh.values():
            count *= size
        return count

    @property
    def versions(self) -> dict[str, str]:
        """Versions of jax, jaxlib and libtpu under the interpreter that described it."""
        return dict(self.facts["versions"])


def default_cache() -> Path:
    """Return the folder of described workloads in the user's cache folder."""
    import platformdirs

    return platformdirs.user_cache_path("ragctx") / "references"


def describe(workload: Path, *, python: str = sys.executable, cache: Path | None = None) -> Reference:
    """Return what a workload expects, from the cache or by tracing it in a child.

    Args:
        workload: The workload file.
        python: Interpreter whose JAX counts.
        cache: Folder to keep answers in; None keeps nothing.

    Raises:
        RagctxError: If there is no such file or it is not a workload.
    """
    text = read_text(workload, what="workload")
    workload = workload.resolve()
    kept = None if cache is None else cache / f"{_key(text, workload, python)}.json"
    if kept is not None:
        with contextlib.suppress(OSError, ValueError):
            return Reference(workload, json.loads(kept.read_text(encoding="utf-8")))
    result = run_script("verify_reference.py", {"workload": str(workload)}, python=python)
    answer = result.answer
    if not isinstance(answer, dict):
        last = (result.stderr.strip().splitlines() or ["no answer"])[-1]
        raise RagctxError(f"the workload could not be traced: {last}", where=str(workload))
    if answer.get("error"):
        error = answer["error"]
        where = f"{workload}:{error['line']}" if error["line"] else str(workload)
        first = (error["message"].splitlines() or [""])[0]
        raise RagctxError(f"the workload does not trace: {error['type']}: {first}", where=where)
    if kept is not None:
        with contextlib.suppress(OSError, RagctxError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(kept, json.dumps(answer))
    return Reference(workload, answer)


def _key(text: str, workload: Path, python: str) -> str:
    """Return a digest of what shapes the answer: the file and its neighbours, the interpreter's JAX, our scripts."""
    digest = hashlib.sha256(f"{_FORMAT}\0{python}\0{text}".encode())
    for neighbour in sorted(workload.parent.glob("*.py")):
        with contextlib.suppress(OSError):
            stat = neighbour.stat()
            digest.update(f"{neighbour.name}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
    for script in sorted([*SCRIPTS.glob("verify_*.py"), *SCRIPTS.glob("program*.py")]):
        digest.update(script.read_bytes())
    for folder in interpreter_paths(python):
        for name in sorted(p.name for pattern in ("jax*.dist-info", "libtpu*.dist-info") for p in folder.glob(pattern)):
            digest.update(name.encode())
    return digest.hexdigest()[:32]
