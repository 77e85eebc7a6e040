"""Sandboxed interpreters started ahead: JAX is imported before there is a candidate to judge.

    place = Place(python, isolation, limits, readable, devices)
    start(place)                                  # a worker, while it waits for its job
    ...
    with folder_for(place) as folder:             # the job: the folder of what waits, or a new one
        waiting = waiting_in(folder)
        run = waiting.run(script, [arguments], limits) if waiting else run_sandboxed(...)

Each serves one run. Until then it has run nothing but `_child/prestart.py`, in the sandbox of that run. Its CPU time,
the import of JAX included, counts as the run's; the clocks of wall time and idleness start with the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragctx.children import SCRIPTS
from ragctx.verify import sandbox, users
from ragctx.verify.interpreter import interpreter_paths
from ragctx.verify.isolation import Isolation, IsolationKind
from ragctx.verify.limits import Limits, Run
from ragctx.verify.processes import environment
from ragctx.verify.run_folder import handed_over, run_folder
from ragctx.verify.session import Session
from ragctx.verify.supervisor import Supervisor

PIPE = "prestart.pipe"
# A process lowers its own limit when its order comes and could not raise it; before, it only imports JAX.
_ANY_CPU_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run takes place: what of it is fixed before its process starts.

    Attributes:
        python: The interpreter.
        isolation: The sandbox.
        limits: Limits of the run; of time none counts yet.
        readable: What it may read besides the interpreter and ragctx's scripts.
        devices: Simulated devices.
    """

    python: str
    isolation: Isolation
    limits: Limits
    readable: tuple[Path, ...] = ()
    devices: int = 1

    @property
    def key(self) -> Place:
        """Return the place without what is only fixed when a run begins."""
        timeless = replace(self.limits, cpu_s=0, wall_s=0, idle_cpu_s=0, idle_wall_s=0)
        return replace(self, python=os.path.abspath(self.python), limits=timeless)


class Waiting:
    """One interpreter that waits in its folder.

    Raises:
        RagctxError: If the sandbox cannot be set up.
    """

    def __init__(self, place: Place) -> None:
        self.place = place.key
        with contextlib.ExitStack() as folder, contextlib.ExitStack() as stack:
            self.folder = folder.enter_context(run_folder())
            os.mkfifo(self.folder / PIPE)
            os.chmod(self.folder / PIPE, 0o644)
            # Open for both, so that opening waits for nobody; who reads waits for the line.
            self._pipe = os.open(self.folder / PIPE, os.O_RDWR | os.O_CLOEXEC)
            stack.callback(os.close, self._pipe)
            self._uid = stack.enter_context(users.lease()) if place.isolation.own_user else None
            self._ground = stack.enter_context(handed_over(self.folder, self._uid))
            inside = place.isolation.kind is IsolationKind.BUBBLEWRAP
            scratch = stack.enter_context(sandbox._scratch(self._uid)) if inside else None
            self._writable = (self._ground, *(scratch.writable if scratch else ()))
            self._skip = 2 if scratch else 1
            self._session = self._start(place, scratch)
            stack.callback(self._session.end)
            self._until_run, self._until_closed = stack.pop_all(), folder.pop_all()

    def _start(self, place: Place, scratch: Any) -> Session:
        readable = [*interpreter_paths(place.python), SCRIPTS, *place.readable]
        command = [self.place.python, "-I", str(SCRIPTS / "prestart.py"), str(self.folder / PIPE)]
        limits = replace(place.limits, cpu_s=_ANY_CPU_S)
        surroundings = environment(self.folder, place.devices)
        spec = sandbox._spec(command, self.folder, readable, limits, surroundings, place.isolation, self._uid)
        return Session(sandbox._command_line(self.folder, readable, scratch, self._uid), spec, self._uid)

    @property
    def alive(self) -> bool:
        """Whether it still waits."""
        # Without reaping it: that is the session's to do.
        return os.waitid(os.P_PID, self._session.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def run(self, script: str, arguments: Sequence[str], limits: Limits) -> Run:
        """Run `_child/<script>` and wait for its end, as `run_sandboxed` does; the folder is the caller's then.

        Raises:
            RagctxError: If the sandbox could not be set up.
        """
        order = {"script": str(SCRIPTS / script), "arguments": list(arguments), "cpu_s": int(limits.cpu_s) + 5}
        with self._until_run:
            self._give_files()
            started_s = time.monotonic()
            supervisor = Supervisor(self._session, limits, self._writable)
            os.write(self._pipe, json.dumps(order).encode() + b"\n")
            supervisor.watch(skip=self._skip)
            self._session.end()
            return supervisor.result(time.monotonic() - started_s)

    def _give_files(self) -> None:
        """Give the run's user what was put into the folder since it was handed over."""
        if self._uid is None:
            return
        for name in os.listdir(self._ground):
            if stat.S_ISREG(os.stat(name, dir_fd=self._ground, follow_symlinks=False).st_mode):
                os.chown(name, self._uid, self._uid, dir_fd=self._ground, follow_symlinks=False)

    def close(self) -> None:
        """End it and remove its folder."""
        with self._until_closed:
            self._until_run.close()


_waiting: list[Waiting] = []
_taken: dict[Path, Waiting] = {}


def start(place: Place) -> bool:
    """Start an interpreter ahead; `folder_for` finds it, `discard` ends it.

    Returns:
        Whether it was started. It is not where another run of the same user could write to it while it waits: what is
        to judge a candidate must be out of the candidate's reach.

    Raises:
        RagctxError: If the sandbox cannot be set up.
    """
    isolation = place.isolation
    if isolation.kind is not IsolationKind.BUBBLEWRAP and not isolation.own_user and not isolation.landlock:
        return False
    _waiting.append(Waiting(place))
    return True


def discard() -> None:
    """End all that still wait."""
    while _waiting:
        _waiting.pop().close()


@contextlib.contextmanager
def folder_for(place: Place) -> Iterator[Path]:
    """Give the folder of an interpreter that waits in such a place, or a new one, and remove it afterwards."""
    found = next((w for w in _waiting if w.place == place.key and w.alive), None)
    if found is None:
        with run_folder() as folder:
            yield folder
        return
    _waiting.remove(found)
    _taken[found.folder] = found
    try:
        yield found.folder
    finally:
        _taken.pop(found.folder, None)
        found.close()


def waiting_in(folder: Path) -> Waiting | None:
    """Return the interpreter that waits in a folder, once."""
    return _taken.pop(folder, None)
