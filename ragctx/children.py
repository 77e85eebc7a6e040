"""Running `_child/` scripts: files run by path in a fresh interpreter, answering through a JSON file.

A child may be another environment's Python, so it gets a file path and an environment, never an import of ragctx.
What it prints is not its answer: the answer is the JSON it writes to the path it is given.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragctx.errors import RagctxError

SCRIPTS = Path(__file__).resolve().parent / "_child"

# libtpu and JAX without a TPU: no metadata server, no lock file in /tmp, no log files, no accelerator probing.
# Established by running libtpu 0.0.42.1 on a machine without a TPU.
TPU_LESS_ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v6e-4",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_LOG_DIR": "disabled",
}


@dataclass(frozen=True, slots=True)
class ChildResult:
    """What a child left behind.

    Attributes:
        answer: The JSON value it wrote, or None if it wrote none.
        status: Its exit status; negative for a signal.
        stderr: The end of what it printed to stderr, at most 20,000 characters.
        timed_out: Whether it was ended for taking too long.
    """

    answer: Any
    status: int
    stderr: str = field(repr=False)
    timed_out: bool = False


def run_script(
    script: str,
    request: Any,
    *,
    python: str | None = None,
    timeout_s: float = 300.0,
    environment: dict[str, str] | None = None,
) -> ChildResult:
    """Run `_child/<script>` with a JSON request and return what it answered.

    The script is called as `python -I SCRIPT REQUEST.json ANSWER.json` in a temporary folder of its own, in its own
    session, and is ended with all it started when the time is up.

    Args:
        script: File name under `_child/`.
        request: A JSON-serialisable value.
        python: Interpreter to use; this one by default.
        timeout_s: Wall-clock seconds before the child is ended.
        environment: Variables laid over the TPU-less environment.

    Raises:
        RagctxError: If the interpreter cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="ragctx-") as folder:
        request_path, answer_path = Path(folder, "request.json"), Path(folder, "answer.json")
        request_path.write_text(json.dumps(request), encoding="utf-8")
        interpreter = python or sys.executable
        if os.path.dirname(interpreter):
            # The child runs in another folder, where a relative path means nothing. Links stay: they tell environments.
            interpreter = os.path.abspath(interpreter)
        command = [interpreter, "-I", str(SCRIPTS / script), str(request_path), str(answer_path)]
        env = {**os.environ, **TPU_LESS_ENVIRONMENT, "PYTHONHASHSEED": "0", **(environment or {})}
        with open(Path(folder, "stderr"), "w+b") as errors:
            try:
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    start_new_session=True,
                )
            except OSError as error:
                raise RagctxError(
                    f"cannot start the interpreter: {error.strerror or error}",
                    where=command[0],
                    remedy="name a Python 3 executable that has JAX installed",
                ) from None
            timed_out = False
            try:
                status = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                timed_out, status = True, -signal.SIGKILL
            finally:
                _end_session(process)
            size = errors.seek(0, os.SEEK_END)
            errors.seek(max(0, size - 20_000))
            stderr = errors.read().decode("utf-8", "replace")
        return ChildResult(_read_answer(answer_path), status, stderr, timed_out)


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """End the child and everything left in its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


def _read_answer(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
