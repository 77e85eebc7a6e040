"""`ragctx wrap`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import click

from ragctx.cli.common import MAX_STDIN_BYTES, builder, index_options, note, settings
from ragctx.cli.context import prefix_options
from ragctx.errors import RagctxError
from ragctx.files import decode

PLACE = "{context}"
# Signals that a shell or a supervisor sends to whoever runs the agent; the agent must get them.
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT, signal.SIGQUIT)
# A terminal's keys send these to every process in the foreground, so the agent has them already.
_FROM_KEYS = (signal.SIGINT, signal.SIGQUIT)


@click.command("wrap", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--workload", metavar="FILE", help="The workload the agent works on.")
@click.option("--task", metavar="TEXT", help="The task in plain words; by default what stands on standard input.")
@click.option("--budget", type=int, metavar="N", help="Tokens the prefix may take (8000).")
@click.option("--target", metavar="T", help="TPU target.")
@click.option("--no-trace", is_flag=True, help="Read the workload as text; import nothing.")
@index_options
@click.argument("cmd", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD ...")
def command(cmd: tuple[str, ...], **options: Any) -> int:
    """Run CMD with the prefix put before its standard input, or in place of {context} in its arguments.

    Without --workload or --task the text on standard input is the query. Where nothing is recognised, or ragctx
    itself fails, CMD runs unchanged and a note on stderr says why. CMD's exit status and signals pass through.
    """
    if options["workload"] and options["task"]:
        raise click.UsageError("give --workload or --task, not both")
    in_arguments = any(PLACE in word for word in cmd)
    own_query = bool(options["workload"] or options["task"])
    given = _standard_input() if not in_arguments or not own_query else None
    prefix = _prefix(options, given)
    arguments = [word.replace(PLACE, prefix) for word in cmd]
    if in_arguments:
        return _run(arguments, given)
    if given is None:
        return _run(arguments, prefix.encode() if prefix else None)
    return _run(arguments, (prefix + "\n").encode() + given if prefix else given)


def _standard_input() -> bytes | None:
    """Return what is piped in, or None on a terminal, where reading would wait for a person."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return None
    return sys.stdin.buffer.read()


def _prefix(options: dict[str, Any], given: bytes | None) -> str:
    """Return the prefix, or "" with a note: the agent runs whatever becomes of its documentation."""
    try:
        chosen = settings(
            index=options["index"],
            corpus=options["corpus"],
            python=options["python"],
            engine=options["engine"],
            target=options["target"],
            budget=options["budget"],
        )
        shape = prefix_options(chosen, None)
        made = builder(chosen, named_index=bool(options["index"]))
        if options["workload"]:
            context = made.prefix(
                Path(options["workload"]), options=shape, trace=not options["no_trace"], python=chosen.python
            )
        else:
            query = options["task"] or decode((given or b"")[:MAX_STDIN_BYTES], where="standard input", what="input")
            if not query.strip():
                note("nothing to go by: running the command unchanged (give --task, --workload or input)")
                return ""
            context = made.prefix(task=query, options=shape)
            if not context.selected:
                note("nothing recognised in the input: running the command unchanged")
                return ""
        for line in context.manifest["notes"]:
            note(line)
        return str(context.text)
    except RagctxError as error:
        note(f"{error}: running the command unchanged")
        return ""


def _run(arguments: list[str], text: bytes | None) -> int:
    """Run the command; a signal for us goes to it, and its death by a signal becomes ours."""
    relay = _Relay()
    with relay:
        try:
            process = subprocess.Popen(arguments, stdin=None if text is None else subprocess.PIPE)
        except FileNotFoundError:
            raise _NotRun(f"no such command: {arguments[0]}", 127) from None
        except OSError as error:
            raise _NotRun(f"cannot run {arguments[0]}: {error.strerror or error}", 126) from None
        relay.to(process)
        if text is not None:
            threading.Thread(target=_feed, args=(process, text), daemon=True).start()
        status = process.wait()
    if status >= 0:
        return status
    _die_by(-status)
    return 128 - status


class _Relay:
    """Passes signals on to a process while its block lasts; those that come before it is there wait for it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        for number in _PASSED_ON:
            # What is ignored (nohup) must stay so for the command, which inherits it.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def to(self, process: subprocess.Popen[bytes]) -> None:
        """Send what has come, and from now on what comes, to `process`."""
        self._process = process
        for number in self._early:
            process.send_signal(number)

    def _handle(self, number: int, _: object) -> None:
        if number in _FROM_KEYS and _in_foreground():
            return
        if self._process is None:
            self._early.append(number)
        elif self._process.poll() is None:
            self._process.send_signal(number)


def _in_foreground() -> bool:
    """Return whether our process group is the one that a terminal's keys send signals to."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _feed(process: subprocess.Popen[bytes], text: bytes) -> None:
    """Write the command's input; a command that does not read all of it is within its rights."""
    assert process.stdin is not None
    try:
        process.stdin.write(text)
        process.stdin.close()
    except (BrokenPipeError, OSError):
        pass


def _die_by(number: int) -> None:
    """End as the command ended, so that a shell sees the same; uncatchable signals work without a handler."""
    sys.stdout.flush()
    sys.stderr.flush()
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


class _NotRun(RagctxError):
    """The command could not be started; the shell's exit statuses for that."""

    def __init__(self, problem: str, exit_status: int) -> None:
        super().__init__(problem)
        self.exit_status = exit_status
