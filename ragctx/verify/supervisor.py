"""Holding a sandboxed run to its limits, from outside."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ragctx.verify import process_watch
from ragctx.verify.limits import GIB, Ended, Limits, Run
from ragctx.verify.run_folder import DEEPEST, MOST_ENTRIES, disk_use
from ragctx.verify.session import KEEPER_ANSWER_S, Session

POLL_S = 0.1
DISK_POLL_S = 0.2
OUTPUT_CHARACTERS = 20_000


@dataclass(slots=True)
class Tail:
    """The end of a stream; four bytes a character at most."""

    data: bytearray = field(default_factory=bytearray)

    def drain(self, descriptor: int) -> int:
        """Read what is there, at most 1 MiB; return how much it was, 0 at the end, -1 for nothing yet."""
        total = 0
        while total < 1024**2:
            try:
                raw = os.read(descriptor, 65536)
            except BlockingIOError:
                return total or -1
            if not raw:
                return total
            total += len(raw)
            self.data += raw
            if len(self.data) > 8 * OUTPUT_CHARACTERS:
                del self.data[: -4 * OUTPUT_CHARACTERS]
        return total

    def text(self) -> str:
        """Return it as text."""
        return self.data.decode("utf-8", "replace")[-OUTPUT_CHARACTERS:]


class Supervisor:
    """Holds a session to its limits."""

    def __init__(self, session: Session, limits: Limits, folders: Sequence[int]) -> None:
        self._session = session
        self._limits = limits
        self._folders = folders
        self._tail = Tail()
        self._ended: Ended | None = None
        self._reason = ""
        self._cpu_s = 0.0
        self._memory_bytes = 0
        self._samples: deque[tuple[float, float]] = deque()
        self._oom_kills = _oom_kills()

    def watch(self, skip: int) -> None:
        """Return when the run has ended and nothing of it is alive."""
        session, tree = self._session, process_watch.TreeWatch(self._session.process.pid, skip)
        start = time.monotonic()
        look_at, disk_at, give_up_at = start + POLL_S, start + DISK_POLL_S, float("inf")
        self._samples.append((start, 0.0))
        with selectors.DefaultSelector() as selector:
            selector.register(session.output_fd, selectors.EVENT_READ)
            selector.register(session.status_fd, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(max(0.0, look_at - time.monotonic())):
                    if key.fd == session.status_fd:
                        if session.read_report():
                            self._tail.drain(session.output_fd)
                            return
                    elif (size := self._tail.drain(session.output_fd)) == 0:
                        selector.unregister(session.output_fd)
                    elif size >= 1024**2:
                        time.sleep(0.002)  # who prints for ever must not cost a core on our side too
                now = time.monotonic()
                if now < look_at:
                    continue
                look_at = now + POLL_S
                if self._ended is not None:
                    if now > give_up_at:
                        return
                    continue
                usage = tree.look()
                self._check(usage, now, now - start)
                if self._ended is None and now >= disk_at:
                    self._check_disk(usage)
                    # A folder that takes long to measure is measured less often.
                    disk_at = time.monotonic() + max(DISK_POLL_S, 10 * (time.monotonic() - now))
                if self._ended is not None:
                    session.stop()
                    give_up_at = now + KEEPER_ANSWER_S

    def _stop(self, ended: Ended, reason: str) -> None:
        self._ended, self._reason = ended, reason

    def _check(self, usage: process_watch.Usage, now: float, wall_s: float) -> None:
        limits = self._limits
        self._cpu_s = usage.cpu_s
        memory = usage.resident_bytes
        if memory > limits.memory_bytes and len(usage.pids) > 1:
            memory = process_watch.proportional_bytes(usage.pids) or memory
        self._memory_bytes = max(self._memory_bytes, memory)
        while len(self._samples) > 1 and now - self._samples[1][0] >= limits.idle_wall_s:
            self._samples.popleft()
        since, then_cpu_s = self._samples[0]
        if now - self._samples[-1][0] >= min(1.0, limits.idle_wall_s / 10):
            self._samples.append((now, usage.cpu_s))
        idle = now - since >= limits.idle_wall_s and usage.cpu_s - then_cpu_s < limits.idle_cpu_s
        if memory > limits.memory_bytes:
            self._stop(Ended.MEMORY, f"used {memory / GIB:.2f} GiB of memory, limit {limits.memory_bytes / GIB:g}")
        elif usage.cpu_s > limits.cpu_s:
            self._stop(Ended.CPU, f"used {usage.cpu_s:.1f} CPU-seconds, limit {limits.cpu_s:g}")
        elif wall_s > limits.wall_s:
            self._stop(Ended.WALL, f"took {wall_s:.1f} s, limit {limits.wall_s:g}")
        elif idle:
            used = usage.cpu_s - then_cpu_s
            self._stop(Ended.IDLE, f"used {used:.2f} CPU-seconds in {now - since:.1f} s, taken for deadlocked")

    def _check_disk(self, usage: process_watch.Usage) -> None:
        limit, uses = self._limits.file_bytes, [disk_use(folder) for folder in self._folders]
        used = sum(use.used_bytes for use in uses) + process_watch.nameless_bytes(usage.pids)
        if any(use.largest_bytes >= limit for use in uses):
            self._stop(Ended.DISK, f"a file reached the limit of {limit / GIB:g} GiB")
        elif used > limit:
            self._stop(Ended.DISK, f"wrote {used / GIB:.2f} GiB, limit {limit / GIB:g}")
        elif any(use.entries > MOST_ENTRIES for use in uses):
            self._stop(Ended.DISK, f"made more than {MOST_ENTRIES:,} files")
        elif any(use.too_deep for use in uses):
            self._stop(Ended.DISK, f"nested folders more than {DEEPEST} deep")

    def result(self, wall_s: float) -> Run:
        """Return what became of the run, once everything is dead."""
        session, output = self._session, self._tail.text()
        oom_killed = _oom_kills() > self._oom_kills
        if self._ended is None and not (session.report is None and oom_killed):
            session.check_started(output)
        report = session.report or {}
        status = report.get("status")
        cpu_s = max(self._cpu_s, report.get("cpu_s", 0.0))
        code = os.waitstatus_to_exitcode(status) if status is not None else -signal.SIGKILL
        if self._ended is None:
            self._check_disk(process_watch.Usage(cpu_s, 0, ()))
        if self._ended is None and code == -signal.SIGKILL and oom_killed:
            self._stop(Ended.MEMORY, "the machine ran out of memory and its kernel ended the run")
        if self._ended is None and code == -signal.SIGXFSZ:
            self._stop(Ended.DISK, f"a file reached the limit of {self._limits.file_bytes / GIB:g} GiB")
        if self._ended is None and cpu_s > self._limits.cpu_s:
            self._stop(Ended.CPU, f"used {cpu_s:.1f} CPU-seconds, limit {self._limits.cpu_s:g}")
        ended = self._ended or (Ended.EXITED if code >= 0 else Ended.SIGNAL)
        return Run(ended, abs(code), cpu_s, wall_s, output, self._reason, self._memory_bytes)


def _oom_kills() -> int:
    """Return how many processes this machine's kernel has ended for lack of memory."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
