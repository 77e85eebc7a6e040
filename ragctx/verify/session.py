"""The keeper of a sandboxed run, seen from ragctx: start it, hear from it, end all it keeps."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ragctx.errors import RagctxError
from ragctx.verify import process_watch
from ragctx.verify.isolation import install_hint

KEEPER_ANSWER_S = 10.0


class Session:
    """The keeper of one run, from its start to the death of all below it."""

    def __init__(self, line: Sequence[str], spec: Mapping[str, Any], uid: int | None) -> None:
        self.report: dict[str, Any] | None = None
        self._uid = uid
        self._sole = spec["sole"]
        self._program = line[0]
        self._command = spec["command"]
        self._ended = False
        self._raw = b""
        with contextlib.ExitStack() as stack:
            spec_fd = os.memfd_create("spec")
            stack.callback(os.close, spec_fd)
            os.write(spec_fd, json.dumps(spec).encode())
            os.lseek(spec_fd, 0, os.SEEK_SET)
            status_read, status_write = os.pipe()
            control_read, self._control = os.pipe()
            output_read, output_write = os.pipe()
            for descriptor in (status_write, control_read, output_write):
                stack.callback(os.close, descriptor)
            for descriptor in (status_read, output_read):
                os.set_blocking(descriptor, False)
            self.status_fd, self.output_fd = status_read, output_read
            try:
                self.process = subprocess.Popen(
                    [*line, str(spec_fd), str(status_write), str(control_read)],
                    cwd="/",
                    env={},
                    stdin=subprocess.DEVNULL,
                    stdout=output_write,
                    stderr=output_write,
                    pass_fds=(spec_fd, status_write, control_read),
                    start_new_session=True,
                    umask=0o022,
                )
            except OSError as error:
                for descriptor in (status_read, output_read, self._control):
                    os.close(descriptor)
                raise RagctxError(f"cannot start the sandbox: {error.strerror}", where=line[0]) from None

    def read_report(self) -> bool:
        """Read what the keeper has to say; return whether that was all."""
        try:
            raw = os.read(self.status_fd, 65536)
        except BlockingIOError:
            return False
        self._raw += raw
        if raw and not self._raw.endswith(b"\n"):
            return False
        with contextlib.suppress(ValueError):
            self.report = json.loads(self._raw)
        return True

    def stop(self) -> None:
        """Ask the keeper to end everything."""
        if self._control >= 0:
            os.close(self._control)
            self._control = -1

    def end(self) -> None:
        """See that everything is dead, by force where the keeper does not answer."""
        if self._ended:
            return
        below = process_watch.TreeWatch(self.process.pid, 1).look().pids if self.report is None else ()
        try:
            self.stop()
            self._wait(KEEPER_ANSWER_S)
        finally:
            self.process.kill()
            self.process.wait()
            self._ended = True
            if self.report is None:
                self.read_report()
            # In a namespace the death of its first process is the death of all; otherwise look again.
            if self.report is None and not self._sole:
                self._sweep(below)
            os.close(self.status_fd)
            os.close(self.output_fd)

    def _wait(self, timeout_s: float) -> None:
        # Popen.wait with a timeout sleeps between looks; this wakes when the process ends.
        handle = os.pidfd_open(self.process.pid)
        try:
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            poller.poll(timeout_s * 1000)
        finally:
            os.close(handle)

    def _sweep(self, below: Sequence[int]) -> None:
        while True:
            left = process_watch.processes_of(self._uid) if self._uid is not None else below
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            if self._uid is None or not left:
                return
            time.sleep(0.01)

    def check_started(self, output: str) -> None:
        """Raise if the command never ran.

        Raises:
            RagctxError: With what stopped it and what to do.
        """
        if self.report is None:
            last = output.strip().splitlines()[-1:] or ["it ended without a word"]
            raise RagctxError(f"the sandbox failed: {last[0]}", where=self._program)
        if "error" not in self.report:
            return
        step, path, number = self.report["error"], self.report["path"], self.report["errno"]
        if step in ("readable", "folder", "exec"):
            what = os.strerror(number).lower()
            user = "the run's own user" if self._uid is not None else "the sandbox"
            remedy = "check the path"
            if number == 13:
                remedy = "let everyone read it and enter the folders above it"
                if not self._sole:
                    remedy += f", or install bubblewrap ({install_hint()})"
            raise RagctxError(f"{user} cannot use it: {what}", where=path or self._command[0], remedy=remedy)
        raise RagctxError(f"the sandbox cannot be set up: {step}", where=path or None)
