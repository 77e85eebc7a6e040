"""Running code that nobody trusts: one command, one writable folder, limits that hold from outside.

    isolation = best_isolation()
    with run_folder() as folder:
        run = run_sandboxed([python, "-I", script], folder=folder, readable=interpreter_paths(python), ...)
        data = read_artefact(folder, "out.npy", max_bytes=...)

ragctx starts a keeper (`_child/keeper.py`), inside bubblewrap where there is one, and the keeper starts the command.
ragctx watches from outside and closes the keeper's control pipe to end the run; the keeper answers when
nothing is alive any more.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ragctx.children import SCRIPTS
from ragctx.errors import RagctxError
from ragctx.verify import process_watch, sandbox_bwrap, users
from ragctx.verify.interpreter import interpreter_paths
from ragctx.verify.isolation import Isolation, IsolationKind, candidates, install_hint
from ragctx.verify.limits import GIB, Ended, Limits, Run
from ragctx.verify.run_folder import handed_over, remove_tree, run_folder
from ragctx.verify.session import Session
from ragctx.verify.supervisor import Supervisor

OPEN_FILES = 1024
# Device files and kernel views that a run without a file system of its own may use.
LANDLOCK_READABLE = ("/proc", sandbox_bwrap.DEVICES, "/dev/urandom", "/dev/random")
LANDLOCK_WRITABLE = ("/dev/null", "/dev/zero", "/dev/full")


def run_sandboxed(
    command: Sequence[str],
    *,
    folder: Path,
    readable: Sequence[Path],
    limits: Limits,
    environment: Mapping[str, str],
    isolation: Isolation,
) -> Run:
    """Run a command in a sandbox and wait for its end; nothing it started is alive afterwards.

    Its input is empty, its working folder is `folder`, and what it prints is kept only at the end. When the function
    returns or raises, `folder` is the caller's again and holds only folders and regular files (see `handed_over`).

    Args:
        command: The program by its path, and its arguments.
        folder: The one folder it may write in, besides a /tmp of its own where the isolation has one.
        readable: What it may read besides the system: `interpreter_paths(python)`, input files.
        limits: Enforced from outside.
        environment: The whole environment it gets. Set TMPDIR to `folder` for isolations without a /tmp.
        isolation: From `best_isolation`.

    Raises:
        RagctxError: If the sandbox cannot be set up or the command not be started.
    """
    if not os.path.isabs(command[0]):
        raise RagctxError("a sandboxed program needs its full path", where=command[0])
    with contextlib.ExitStack() as stack:
        uid = stack.enter_context(users.lease()) if isolation.own_user else None
        ground = stack.enter_context(handed_over(folder, uid))
        scratch = stack.enter_context(_scratch(uid)) if isolation.kind is IsolationKind.BUBBLEWRAP else None
        spec = _spec(command, folder, readable, limits, environment, isolation, uid)
        line = _command_line(folder, readable, scratch, uid)
        started_s = time.monotonic()
        session = Session(line, spec, uid)
        stack.callback(session.end)
        supervisor = Supervisor(session, limits, [ground, *(scratch.writable if scratch else ())])
        supervisor.watch(skip=2 if scratch else 1)
        session.end()
        wall_s = time.monotonic() - started_s
        return supervisor.result(wall_s)


@functools.cache
def _tried(isolation: Isolation, python: str) -> RagctxError | None:
    """Return why an isolation does not work with an interpreter, or None; tried once in a process."""
    limits = Limits(cpu_s=20, wall_s=60, idle_wall_s=60, file_bytes=GIB, processes=32)
    try:
        with run_folder("ragctx-trial-") as folder:
            run = run_sandboxed(
                [python, "-I", "-S", "-c", "pass"],
                folder=folder,
                readable=interpreter_paths(python),
                limits=limits,
                environment={},
                isolation=isolation,
            )
    except RagctxError as error:
        return error
    if run.ended is Ended.EXITED and run.status == 0:
        return None
    last = run.output.strip().splitlines()[-1:] or [f"{run.ended} {run.status}"]
    return RagctxError(f"a trial run failed: {last[0]}", where=str(isolation.kind))


def best_isolation(
    require: Literal["none", "subprocess", "bubblewrap"] = "none", *, python: str = sys.executable
) -> Isolation:
    """Return the best sandbox in which an interpreter runs on this machine; each is tried once in a process.

    Args:
        require: The least that will do; "none" and "subprocess" take whatever there is.
        python: The interpreter that is to run inside.

    Raises:
        RagctxError: If none works, or only less than required, with what to install.
    """
    if sys.platform != "linux":
        raise RagctxError("code is judged in a sandbox that needs Linux", remedy="run ragctx verify on a Linux machine")
    why: RagctxError | None = None
    for isolation in candidates():
        if require == "bubblewrap" and isolation.kind is not IsolationKind.BUBBLEWRAP:
            continue
        failure = _tried(isolation, python)
        if failure is None:
            return isolation
        why = why or failure if require == "bubblewrap" else failure
    if require == "bubblewrap":
        reason = f"bubblewrap does not work here ({why.problem})" if why else "bubblewrap is not installed"
        remedy = "allow unprivileged user namespaces or run as root" if why else f"run: {install_hint()}"
        raise RagctxError(reason, where="--require-sandbox", remedy=remedy)
    raise why or RagctxError("no sandbox works here", remedy=f"run: {install_hint()}")


# --- setting up ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scratch:
    path: Path
    writable: tuple[int, ...]


@contextlib.contextmanager
def _scratch(uid: int | None) -> Iterator[_Scratch]:
    """Make what the sandbox shows as /tmp, /dev/shm and /etc/passwd, on disk."""
    path = Path(tempfile.mkdtemp(prefix="ragctx-tmp-"))
    try:
        number, group = (os.getuid(), os.getgid()) if uid is None else (uid, uid)
        (path / "passwd").write_text(f"sandbox:x:{number}:{group}::/tmp:/bin/false\n", encoding="ascii")
        (path / "group").write_text(f"sandbox:x:{group}:\n", encoding="ascii")
        for name in ("passwd", "group"):
            (path / name).chmod(0o644)
        with contextlib.ExitStack() as stack:
            descriptors = []
            for name in ("tmp", "shm"):
                (path / name).mkdir()
                (path / name).chmod(0o1777)
                descriptors.append(os.open(path / name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
                stack.callback(os.close, descriptors[-1])
            yield _Scratch(path, tuple(descriptors))
    finally:
        remove_tree(path)


def _spec(
    command: Sequence[str],
    folder: Path,
    readable: Sequence[Path],
    limits: Limits,
    environment: Mapping[str, str],
    isolation: Isolation,
    uid: int | None,
) -> dict[str, Any]:
    """Return what the keeper is told; its keys are documented by their use there."""
    inside = isolation.kind is IsolationKind.BUBBLEWRAP
    others = 0 if uid is not None or (inside and _counts_by_namespace()) else process_watch.threads_of(os.getuid())
    landlock = None
    if isolation.landlock and not inside:
        landlock = {
            "abi": isolation.landlock,
            "readable": [
                *sandbox_bwrap.SYSTEM,
                *(f"/etc/{name}" for name in (*sandbox_bwrap.ETC, "passwd", "group")),
                *LANDLOCK_READABLE,
                *map(str, readable),
            ],
            "writable": [str(folder), *LANDLOCK_WRITABLE],
        }
    return {
        "command": list(command),
        "environment": dict(environment),
        "folder": os.path.abspath(folder),
        "readable": [os.path.abspath(path) for path in readable],
        "rlimits": {
            "RLIMIT_AS": limits.memory_bytes + max(GIB, limits.memory_bytes // 4),
            "RLIMIT_CORE": 0,
            # A backstop: a little more than the watcher allows, for the day it is late.
            "RLIMIT_CPU": int(limits.cpu_s) + 5,
            "RLIMIT_FSIZE": limits.file_bytes,
            "RLIMIT_MSGQUEUE": 0,
            "RLIMIT_NOFILE": OPEN_FILES,
            "RLIMIT_NPROC": limits.processes + others,
        },
        "uid": uid,
        "sole": inside,
        "landlock": landlock,
        "seccomp": isolation.seccomp,
        "deny_sockets": not inside,
        "own_signals_only": not inside and uid is None and isolation.landlock < 6,
    }


def _counts_by_namespace() -> bool:
    """Return whether RLIMIT_NPROC counts in each user namespace by itself (Linux 5.14 and later)."""
    major, minor = (int("".join(filter(str.isdigit, part)) or 0) for part in platform.release().split(".")[:2])
    return (major, minor) >= (5, 14)


def _command_line(folder: Path, readable: Sequence[Path], scratch: _Scratch | None, uid: int | None) -> list[str]:
    """Return what to start, up to the keeper's own arguments."""
    python, keeper = os.path.realpath(sys.executable), SCRIPTS / "keeper.py"
    if scratch is None:
        return [python, "-I", "-S", str(keeper)]
    return sandbox_bwrap.arguments(
        folder=folder,
        readable=[*readable, *_keeper_paths()],
        scratch=scratch.path,
        keeper=keeper,
        uid=uid,
        command=[python, "-I", "-S", sandbox_bwrap.KEEPER_INSIDE],
    )


def _keeper_paths() -> list[Path]:
    """Return what the keeper's interpreter (ragctx's own, without its packages) reads."""
    return [Path(os.path.realpath(sys.executable)), Path(sys.base_prefix), Path(sys.base_exec_prefix)]
