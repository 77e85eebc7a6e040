"""The command as a whole: help, exit statuses, streams, what it imports, interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from cli_command import Command

from ragctx import __version__
from ragctx.cli import main as package_main
from ragctx.cli.main import COMMANDS, cli, run


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:\n")[2]
    assert [line.split()[0] for line in listed.splitlines() if line[2:3].isalpha()] == list(COMMANDS)
    assert all(" ".join(text.split()) in " ".join(listed.split()) for _, text in COMMANDS.values())


def test_help_imports_no_command(ragctx: Command) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "ragctx", "--help"],
        env=ragctx.environment,
        cwd=ragctx.folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {name for name in imported if name.startswith("ragctx")} == {
        "ragctx",
        "ragctx.cli",
        "ragctx.cli.main",
        "ragctx.errors",
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_of_its_own(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    usage, _, rest = capsys.readouterr().out.partition("\n")
    assert usage.split()[2] == name
    assert "-h, --help" in rest


def test_commands_are_those_and_no_other() -> None:
    context = click.Context(cli)
    assert cli.list_commands(context) == list(COMMANDS)
    assert cli.get_command(context, "nothing") is None


def test_version(ragctx: Command) -> None:
    outcome = ragctx("--version")
    assert (outcome.status, outcome.out) == (0, f"ragctx, version {__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [["nothing"], ["context"], ["context", "--nothing"], ["search"], ["show"], ["context", "w.py", "--budget", "many"]],
)
def test_usage_errors_are_status_2_with_nothing_on_stdout(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("Error: ")


def test_the_entry_point_is_one_function() -> None:
    assert callable(package_main)


IMPORTS = """
import sys
from ragctx.cli.main import run
status = run(sys.argv[1:])
print(status, *sorted({name.partition(".")[0] for name in sys.modules} & set(%r)), file=sys.stderr)
"""
HEAVY = ["jax", "jaxlib", "bm25s", "scipy", "numba", "yaml", "pydantic", "google", "tiktoken", "rich", "rank_bm25"]


def test_a_prefix_without_tracing_imports_nothing_heavy(shipped: Command, gemm: Path) -> None:
    script = [sys.executable, "-c", IMPORTS % HEAVY, "context", str(gemm), "--no-trace"]
    done = subprocess.run(
        script, cwd=shipped.folder, env=shipped.environment, capture_output=True, text=True, timeout=120
    )
    status, *imported = done.stderr.splitlines()[-1].split()
    assert status == "0"
    # The tokenizer is loaded for what no index holds: the role and the facts.
    assert set(imported) <= {"tiktoken"}
    assert done.stdout.startswith("# Writing JAX Pallas kernels for Google TPU v6e\n")


def test_search_imports_nothing_heavy(small: Command) -> None:
    script = [sys.executable, "-c", IMPORTS % HEAVY, "search", "brine"]
    done = subprocess.run(script, cwd=small.folder, env=small.environment, capture_output=True, text=True, timeout=120)
    assert done.stderr.splitlines()[-1] == "0"


def test_a_reader_that_goes_away_is_no_error(small: Command) -> None:
    outcome = small.shell("ragctx context --task 'read_level' | head -n 1; ragctx search brine | true")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == "# Reference documentation for this task\n"


def test_a_full_stdout_is_one_line(small: Command) -> None:
    outcome = small.shell("ragctx context --task 'read_level' > /dev/full")
    assert outcome.status == 1
    assert outcome.error == "No space left on device"


def test_interruption_is_status_130_and_leaves_nothing(ragctx: Command) -> None:
    out = ragctx.folder / "out"
    process = ragctx.start("build-index", "--out", out, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    # The child that reads the installed JAX takes a second: by then the build is under way.
    while time.monotonic() < deadline and not _children(process.pid):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, b"")
    assert stderr.decode().strip() == "ragctx: interrupted"
    assert not out.exists() or list(out.iterdir()) == []
    assert [path.name for path in Path(ragctx.environment["TMPDIR"]).iterdir() if path.name.startswith("ragctx-")] == []


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_no_folder_to_stand_in(ragctx: Command) -> None:
    outcome = ragctx.shell("mkdir gone && cd gone && rmdir ../gone && ragctx doctor")
    assert outcome.status in (0, 1)
    assert "Traceback" not in outcome.err


def test_nobody_to_print_to(small: Command) -> None:
    """Streams that are closed, as a daemon has them."""
    outcome = small.shell("ragctx search brine >&- 2>&- <&-; echo status $?")
    assert outcome.out == "status 0\n"


def test_terminals_see_progress_and_pipes_do_not(ragctx: Command, brine: Path) -> None:
    import pty

    quiet = ragctx("build-index", "--corpus", brine, "--out", "one")
    assert (quiet.status, quiet.err) == (0, "")
    ours, theirs = pty.openpty()
    process = ragctx.start(
        "build-index", "--corpus", brine, "--out", "two", stdout=subprocess.PIPE, stderr=theirs, stdin=theirs
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        seen += part
    out = process.communicate(timeout=60)[0]
    os.close(ours)
    assert process.returncode == 0
    assert b"indexing" in seen
    assert out.startswith(b"7 documents in 7 chunks: two/")
