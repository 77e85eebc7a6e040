"""A pool over this machine's processes: a worker that serves one job, and one more started ahead a slot."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ragctx
from ragctx.errors import RagctxError
from ragctx.verify import process_watch
from ragctx.verify.cache import VerdictCache
from ragctx.verify.jobs import DEFAULT_JUDGE, Job, Judge, Texts, by_content, by_path, without_candidate
from ragctx.verify.pool import Slot, VerifyPool, WorkerLost
from ragctx.verify.run_folder import remove_tree

DEFAULT_PREPARE = "ragctx.verify.warm:prepare"
# A worker that was told to end cleans up for at most 8 s.
MOST_ENDING_S = 12.0
# A worker that has answered, or is dying, ends by itself.
PATIENCE_S = 2.0


class Worker:
    """One worker process, from its start to its end.

    Args:
        judge: Name of the judge.
        expected: What to prepare for, or None.
        cpu: The core to keep to, or None.
        parent: Folder for its temporary files; a folder below it is made and removed.
    """

    def __init__(self, judge: str, expected: Mapping[str, Any] | None, cpu: int | None, parent: Path) -> None:
        prepare = DEFAULT_PREPARE if judge == DEFAULT_JUDGE else "-"
        self._folder = Path(tempfile.mkdtemp(prefix="w-", dir=parent))
        self._folder.chmod(0o711)  # a sandbox's own user passes through to its folder
        self._told_to_end: threading.Timer | None = None
        command = [sys.executable, "-P", "-m", "ragctx.verify.pool_worker"]
        try:
            with open(self._folder / "stderr", "xb") as errors:
                self.process = subprocess.Popen(
                    [*command, "-" if cpu is None else str(cpu), judge, prepare],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd="/",
                    env={**os.environ, "PYTHONPATH": _where_ragctx_is(), "TMPDIR": str(self._folder)},
                    start_new_session=True,
                )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise RagctxError(f"cannot start a worker: {error.strerror or error}", where=sys.executable) from None
        self._write(expected)

    def hand_in(self, wire: Mapping[str, Any]) -> None:
        """Give it its job."""
        self._write(wire)

    def answer(self) -> Mapping[str, Any] | None:
        """Wait for its answer; None if it ended before it gave one."""
        stream = self.process.stdout
        assert stream is not None
        ready, answer = stream.readline(), stream.readline()
        if not ready.endswith(b"\n") or not answer.endswith(b"\n"):
            return None
        value: Mapping[str, Any] = json.loads(answer)
        return value

    def _write(self, value: Any) -> None:
        stream = self.process.stdin
        assert stream is not None
        with contextlib.suppress(BrokenPipeError):  # it is dead: reading its answer says so
            stream.write(json.dumps(value).encode() + b"\n")
            stream.flush()

    def tell_to_end(self) -> None:
        """Tell it to clean up and end, by force if it does not; returns at once."""
        if self._told_to_end is None:
            self._told_to_end = threading.Timer(MOST_ENDING_S, self._kill)
            self._told_to_end.daemon = True
            self._told_to_end.start()
            self.process.terminate()

    def end(self, *, patience_s: float = 0.0) -> str:
        """See it dead, with all below it and its files gone; return how it ended, in one line.

        Args:
            patience_s: How long it may take to end by itself before it is told to.
        """
        if not self._ends_within(patience_s):
            self.tell_to_end()
        status = self.process.wait()
        if self._told_to_end is not None:
            self._told_to_end.cancel()
        last = self._last_line()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()
        self._remove_folder()
        how = f"signal {_signal_name(-status)}" if status < 0 else f"status {status}"
        return f"{how}; {last}" if last else how

    def _ends_within(self, timeout_s: float) -> bool:
        # Popen.wait with a timeout sleeps between looks; this wakes when the process ends.
        handle = os.pidfd_open(self.process.pid)
        try:
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            return bool(poller.poll(timeout_s * 1000))
        finally:
            os.close(handle)

    def _kill(self) -> None:
        below = process_watch.TreeWatch(self.process.pid, 1).look().pids
        self.process.kill()
        for pid in below:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def _last_line(self) -> str:
        try:
            text = (self._folder / "stderr").read_bytes()[-4000:].decode("utf-8", "replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""

    def _remove_folder(self) -> None:
        for _ in range(50):
            try:
                remove_tree(self._folder)
                return
            except OSError:
                # What a killed worker kept is ended by its keeper a moment later, and may write until then.
                threading.Event().wait(0.1)


def _where_ragctx_is() -> str:
    return str(Path(ragctx.__file__).resolve().parent.parent)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


class LocalSlot(Slot):
    """A slot of this machine.

    Args:
        judge: Name of the judge.
        expected: What the first worker is to prepare for, or None.
        cpu: The core its workers keep to, or None.
        parent: Folder for their temporary files.
        carry: Whether jobs go to workers by content rather than by path.
    """

    def __init__(
        self, judge: str, expected: Mapping[str, Any] | None, cpu: int | None, parent: Path, *, carry: bool = False
    ) -> None:
        self._judge, self._expected, self._cpu, self._parent, self._carry = judge, expected, cpu, parent, carry
        self._lock = threading.Lock()
        self._next: Worker | None = None
        self._current: tuple[int, Worker] | None = None
        self._interrupted: set[int] = set()
        self._closed = False

    def ready(self) -> None:
        """See that a worker was started."""
        with self._lock:
            if self._closed:
                raise WorkerLost("the pool is closed")
            if self._next is None:
                self._next = Worker(self._judge, self._expected, self._cpu, self._parent)

    def run(self, ticket: int, job: Job, texts: Texts) -> Mapping[str, Any]:
        """Run a job in the worker that waits, and start the next one."""
        return self.run_wire(ticket, by_content(job, texts) if self._carry else by_path(job))

    def run_wire(self, ticket: int, wire: Mapping[str, Any]) -> Mapping[str, Any]:
        """Do as `run`, with a job in the form that travels."""
        self.ready()
        with self._lock:
            if ticket in self._interrupted or self._next is None:
                raise WorkerLost("interrupted")
            worker, self._next = self._next, None
            self._current = (ticket, worker)
            # Tickets of a slot only grow: what is below can never come.
            self._interrupted = {number for number in self._interrupted if number > ticket}
        try:
            worker.hand_in(wire)
            self._expected = without_candidate(wire)
            with contextlib.suppress(WorkerLost, RagctxError):  # asked for again before the next job
                self.ready()
            answer = worker.answer()
        finally:
            with self._lock:
                self._current = None
            how = worker.end(patience_s=PATIENCE_S)
        if answer is None:
            raise WorkerLost(how)
        return answer

    def interrupt(self, ticket: int) -> None:
        """End a run, now or when it begins."""
        with self._lock:
            if self._current is not None and self._current[0] == ticket:
                self._current[1].tell_to_end()
            else:
                self._interrupted.add(ticket)

    def close(self) -> None:
        """End the workers."""
        with self._lock:
            self._closed = True
            waiting, self._next = self._next, None
            if self._current is not None:
                self._current[1].tell_to_end()
        if waiting is not None:
            waiting.end()


class LocalPool(VerifyPool):
    """A pool over this machine's processes.

    Args:
        workers: Jobs at a time; one a core by default.
        pin: Whether each keeps to one core, with all it starts.
        judge: What is called for a job.
        cache: Where verdicts are looked up and kept.
        expect: A job like those to come.
        folder: Where workers have their temporary files; the system's folder by default.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        pin: bool = False,
        judge: str | Judge = DEFAULT_JUDGE,
        cache: VerdictCache | None = None,
        expect: Job | None = None,
        folder: Path | None = None,
    ) -> None:
        cores = sorted(os.sched_getaffinity(0))
        super().__init__(len(cores) if workers is None else workers, judge=judge, cache=cache)
        self._cores = cores
        self._pin = pin
        self._expected = None if expect is None else without_candidate(by_path(expect))
        self._parent = folder
        self._folder: Path | None = None

    def _new_slot(self, number: int) -> Slot:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="ragctx-pool-", dir=self._parent))
            self._folder.chmod(0o711)
        cpu = self._cores[number % len(self._cores)] if self._pin else None
        return LocalSlot(self._judge, self._expected, cpu, self._folder)

    def _after_close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
