"""Running one of verify's scripts in the sandbox, and reading the report it leaves without believing its form."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragctx.children import SCRIPTS, TPU_LESS_ENVIRONMENT
from ragctx.errors import RagctxError
from ragctx.verify.interpreter import interpreter_paths
from ragctx.verify.isolation import Isolation
from ragctx.verify.limits import Limits, Run
from ragctx.verify.run_folder import read_artefact
from ragctx.verify.sandbox import run_sandboxed

MOST_REPORT_BYTES = 16 * 1024 * 1024
REPORT = "report.json"
# Interpreted kernels call back into Python from pool threads, and simulated devices wait for each other on them: with
# one thread (a machine of one core, a process pinned to one) or fewer than devices they wait for ever.
_POOL_THREADS = 16


@dataclass(frozen=True, slots=True)
class Result:
    """What one process left.

    Attributes:
        report: Its report, or {} if it left none that is a JSON object.
        run: What became of it.
    """

    report: Mapping[str, Any]
    run: Run


def run_process(
    script: str,
    request: Mapping[str, Any],
    folder: Path,
    *,
    python: str,
    isolation: Isolation,
    limits: Limits,
    readable: Sequence[Path] = (),
    devices: int = 1,
) -> Result:
    """Run `_child/<script>` sandboxed with a JSON request in a folder of its own, and return what it left.

    Where an interpreter waits in the folder (`ragctx.verify.prestart`) it is the one that runs it.
    """
    from ragctx.verify.prestart import waiting_in

    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    arguments = [str(folder / "request.json"), str(folder / REPORT), str(folder)]
    waiting = waiting_in(folder)
    if waiting is not None:
        run = waiting.run(script, arguments, limits)
        return Result(read_report(folder), run)
    run = run_sandboxed(
        [os.path.abspath(python), "-I", str(SCRIPTS / script), *arguments],
        folder=folder,
        readable=[*interpreter_paths(python), SCRIPTS, *readable],
        limits=limits,
        environment=environment(folder, devices),
        isolation=isolation,
    )
    return Result(read_report(folder), run)


def environment(folder: Path, devices: int) -> dict[str, str]:
    """Return the whole environment of a process: what JAX needs without a TPU, and nothing of the caller's."""
    env = {
        **TPU_LESS_ENVIRONMENT,
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "JAX_TRACEBACK_FILTERING": "off",  # classify() reads JAX's own frames
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "NPROC": str(max(_POOL_THREADS, 4 * devices)),
    }
    if devices > 1:
        env["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    return env


def read_report(folder: Path) -> dict[str, Any]:
    """Return the report in a folder, or {} if there is none of a sane size that is a JSON object."""
    try:
        value = json.loads(read_artefact(folder, REPORT, MOST_REPORT_BYTES))
    except (RagctxError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def copy_artefact(source: Path, name: str, target: Path, max_bytes: int) -> None:
    """Copy a file that a run left into a folder of ours.

    Raises:
        RagctxError: If it is missing, no plain file, or larger than that.
    """
    from ragctx.verify.run_folder import open_artefact

    with open_artefact(source, name, max_bytes) as stream, open(target / name, "xb") as out:
        shutil.copyfileobj(stream, out)
