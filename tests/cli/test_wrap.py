from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_command import Command

from ragctx.context import ContextBuilder
from ragctx.index import Index

TASK = "How much brine is in vat 7?"


@pytest.fixture
def prefix(brine_index: Index) -> str:
    return ContextBuilder(brine_index).prefix(task=TASK).text


def test_the_prefix_goes_before_standard_input_which_is_the_query(small: Command, prefix: str) -> None:
    outcome = small("wrap", "--", "cat", stdin=TASK)
    assert (outcome.status, outcome.out, outcome.err) == (0, f"{prefix}\n{TASK}", "")


def test_a_task_of_its_own(small: Command, prefix: str) -> None:
    assert small("wrap", "--task", TASK, "--", "cat", stdin="Go on.").out == f"{prefix}\nGo on."
    assert small("wrap", "--task", TASK, "--", "cat").out == f"{prefix}\n"


def test_a_workload(small: Command, brine_index: Index, gemm: Path) -> None:
    outcome = small("wrap", "--workload", gemm, "--no-trace", "--budget", "600", "--", "cat", stdin="Write it.")
    text = ContextBuilder(brine_index).prefix(gemm, trace=False, budget=600).text
    assert (outcome.status, outcome.out) == (0, f"{text}\nWrite it.")
    assert outcome.err == "ragctx: not traced: read from the text alone\n"


def test_in_place_of_context_in_the_arguments(small: Command, prefix: str) -> None:
    script = "import sys; print(sys.argv[1:], repr(sys.stdin.read()))"
    command = [sys.executable, "-c", script, "--system={context}!", "{context}", "{other}"]
    shown = [f"--system={prefix}!", prefix, "{other}"]
    own = small("wrap", "--task", TASK, "--", *command, stdin="Go on.")
    assert (own.status, own.out) == (0, f"{shown} 'Go on.'\n")
    from_input = small("wrap", "--", *command, stdin=TASK)
    assert (from_input.status, from_input.out) == (0, f"{shown} {TASK!r}\n")


def test_options_of_the_command_are_its_own(small: Command) -> None:
    script = "import sys; print(sys.argv[1:])"
    outcome = small("wrap", "--task", "zzqx", "--", sys.executable, "-c", script, "--task", "x", "--", "-h")
    assert outcome.out == "['--task', 'x', '--', '-h']\n"
    without_dashes = small("wrap", "--task", "zzqx", sys.executable, "-c", script, "--budget", "x")
    assert without_dashes.out == "['--budget', 'x']\n"


@pytest.mark.parametrize(
    ("stdin", "note"),
    [
        (b"zzqx", "nothing recognised in the input: running the command unchanged"),
        (b"", "nothing to go by: running the command unchanged (give --task, --workload or input)"),
        (b" \n", "nothing to go by: running the command unchanged (give --task, --workload or input)"),
        (
            b"\xff\x00",
            "standard input:1: the input is not UTF-8 (byte 0xff); save it as UTF-8: running the command unchanged",
        ),
    ],
)
def test_nothing_recognised_leaves_the_command_unchanged(small: Command, stdin: bytes, note: str) -> None:
    script = "import sys; sys.stdout.write(repr(sys.stdin.buffer.read()))"
    outcome = small("wrap", "--", sys.executable, "-c", script, stdin=stdin)
    assert (outcome.status, outcome.out, outcome.err) == (0, repr(stdin), f"ragctx: {note}\n")


def test_rules_that_always_hold_are_nothing_recognised(shipped: Command) -> None:
    outcome = shipped("wrap", "--", "cat", stdin="zzqx")
    assert (outcome.out, outcome.err) == (
        "zzqx",
        "ragctx: nothing recognised in the input: running the command unchanged\n",
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--workload", "missing.py"],
            "missing.py: no such workload file; check the path: running the command unchanged",
        ),
        (["--index", "missing"], ": running the command unchanged"),
        (["--budget", "3"], "a budget of 3 tokens is too small for the fixed parts; give at least "),
        (["--target", "v9"], "unknown target 'v9'; "),
    ],
)
def test_where_ragctx_fails_the_command_runs_unchanged(small: Command, arguments: list[str], says: str) -> None:
    outcome = small("wrap", *arguments, "--", "cat", stdin=TASK)
    assert (outcome.status, outcome.out) == (0, TASK)
    assert says in outcome.err
    assert outcome.err.endswith(": running the command unchanged\n") and outcome.err.count("\n") == 1


def test_usage(small: Command) -> None:
    assert small("wrap").status == 2
    assert small("wrap", "--workload", "w.py", "--task", "x", "--", "cat").status == 2


# -- status and signals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [0, 1, 3, 130, 255])
def test_the_exit_status_passes_through(small: Command, status: int) -> None:
    assert small("wrap", "--task", TASK, "--", "sh", "-c", f"exit {status}").status == status


def test_streams_of_the_command_are_its_own(small: Command) -> None:
    outcome = small("wrap", "--task", TASK, "--", "sh", "-c", "echo out; echo err >&2")
    assert (outcome.out, outcome.err) == ("out\n", "err\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT])
def test_death_by_a_signal_looks_the_same_in_a_shell(small: Command, number: signal.Signals) -> None:
    direct = small("wrap", "--task", TASK, "--", "sh", "-c", f"kill -{int(number)} $$")
    assert direct.status == -number
    outcome = small.shell(f"ragctx wrap --task '{TASK}' -- sh -c 'kill -{int(number)} $$'; echo $?")
    assert outcome.out == f"{128 + number}\n"


def test_a_missing_command_is_127_and_what_cannot_be_run_126(small: Command) -> None:
    missing = small("wrap", "--task", TASK, "--", "no-such-command")
    assert (missing.status, missing.error) == (127, "no such command: no-such-command")
    (small.folder / "data.txt").write_text("text")
    denied = small("wrap", "--task", TASK, "--", "./data.txt")
    assert (denied.status, denied.error) == (126, "cannot run ./data.txt: Permission denied")
    assert small("wrap", "--task", TASK, "--", ".").status == 126


RECEIVER = """
import pathlib, signal, sys, time
def received(number, frame):
    pathlib.Path("received").write_text(str(number))
    sys.exit(7)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, received)
pathlib.Path("ready").touch()
time.sleep(60)
"""


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert path.exists()


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT, signal.SIGQUIT],
)
def test_a_signal_for_ragctx_reaches_the_command(small: Command, number: signal.Signals) -> None:
    # A session of its own: no terminal whose keys would have told the command already.
    process = small.start(
        "wrap", "--task", TASK, "--", sys.executable, "-c", RECEIVER, stdin=subprocess.DEVNULL, start_new_session=True
    )
    wait_for(small.folder / "ready", process)
    process.send_signal(number)
    assert process.wait(60) == 7
    assert (small.folder / "received").read_text() == str(int(number))


def test_a_command_without_a_handler_dies_of_the_signal_and_so_do_we(small: Command) -> None:
    script = "touch ready; exec sleep 60"
    process = small.start("wrap", "--task", TASK, "--", "sh", "-c", script, stdin=subprocess.DEVNULL)
    wait_for(small.folder / "ready", process)
    process.terminate()
    assert process.wait(60) == -signal.SIGTERM


def test_what_is_ignored_stays_ignored_for_the_command(small: Command) -> None:
    """As under nohup."""
    script = "touch ready; kill -HUP $$; kill -HUP $PPID; echo survived"
    outcome = small.shell(f"trap '' HUP; ragctx wrap --task '{TASK}' -- sh -c '{script}'; echo $?")
    assert outcome.out == "survived\n0\n"


def test_keys_of_a_terminal_reach_the_command_once(small: Command) -> None:
    import pty

    script = (
        "import pathlib, signal, time\n"
        "seen = []\n"
        "signal.signal(signal.SIGINT, lambda *a: seen.append(1))\n"
        "pathlib.Path('ready').touch()\n"
        "end = time.monotonic() + 3\n"
        "while time.monotonic() < end and not seen: time.sleep(0.02)\n"
        "time.sleep(0.5)\n"
        "pathlib.Path('count').write_text(str(len(seen)))\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(small.folder)
        words = small.words("wrap", "--task", TASK, "--", sys.executable, "-c", script)
        os.execve(words[0], words, small.environment)
    deadline = time.monotonic() + 60
    while not (small.folder / "ready").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    assert (small.folder / "count").read_text() == "1"


# -- input -----------------------------------------------------------------------------------------------------------

DIGEST = "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"


def test_binary_input_passes_through(small: Command, prefix: str) -> None:
    data = bytes(range(256)) * 64 + b"\r\n\x00\xff"
    outcome = small("wrap", "--task", TASK, "--", sys.executable, "-c", DIGEST, stdin=data)
    assert outcome.out.strip() == hashlib.sha256(f"{prefix}\n".encode() + data).hexdigest()
    unchanged = small("wrap", "--", sys.executable, "-c", DIGEST, stdin=data)
    assert unchanged.out.strip() == hashlib.sha256(data).hexdigest()


def test_much_input_does_not_block(small: Command, prefix: str) -> None:
    data = os.urandom(1 << 20) * 50
    outcome = small("wrap", "--task", TASK, "--", sys.executable, "-c", DIGEST, stdin=data)
    assert outcome.out.strip() == hashlib.sha256(f"{prefix}\n".encode() + data).hexdigest()


def test_much_text_as_query_is_read_in_part(small: Command) -> None:
    data = (TASK + "\n").encode() + b"zzqx " * (20 * 1024 * 1024 // 5)
    outcome = small("wrap", "--", "head", "-n", "1", stdin=data)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == "# Reference documentation for this task\n"


@pytest.mark.parametrize("script", ["exec <&-; exit 4", "head -c 1 > /dev/null; exit 4", "exit 4"])
def test_a_command_need_not_read_its_input(small: Command, script: str) -> None:
    data = b"x" * (8 << 20)
    outcome = small("wrap", "--task", TASK, "--", "sh", "-c", script, stdin=data)
    assert (outcome.status, outcome.out, outcome.err) == (4, "", "")


def test_input_that_is_closed_or_missing(small: Command, prefix: str) -> None:
    assert small.shell(f"ragctx wrap --task '{TASK}' -- cat <&-").out.rstrip("\n") == prefix.rstrip("\n")
    assert small.shell("ragctx wrap -- true <&-").err == (
        "ragctx: nothing to go by: running the command unchanged (give --task, --workload or input)\n"
    )
