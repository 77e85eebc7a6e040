"""What a sandboxed run is held to and what is reported of it; every attack is real, and bounded in itself."""

from __future__ import annotations

import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from boxes import LIMITS, MIB, Box

from ragctx.verify import run_folder as run_folder_module
from ragctx.verify import supervisor
from ragctx.verify.limits import Ended
from ragctx.verify.run_folder import read_artefact

# --- what is reported ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "ended", "status"),
    [
        ("print('fine')", Ended.EXITED, 0),
        ("sys.exit(7)", Ended.EXITED, 7),
        ("os._exit(139)", Ended.EXITED, 139),
        ("os.kill(os.getpid(), signal.SIGSEGV)", Ended.SIGNAL, signal.SIGSEGV),
        ("os.abort()", Ended.SIGNAL, signal.SIGABRT),
        ("os.kill(os.getpid(), signal.SIGKILL)", Ended.SIGNAL, signal.SIGKILL),
    ],
)
def test_exit_statuses_and_signals_are_told_apart(box: Box, code: str, ended: Ended, status: int) -> None:
    run = box.run(code)
    assert (run.ended, run.status, run.reason) == (ended, status, "")


def test_output_environment_input_and_folder_are_as_given(box: Box) -> None:
    run = box.run(
        """
        open("out", "w").write("made")
        print(sorted(os.environ), repr(sys.stdin.read()), os.getcwd())
        print("to stderr", file=sys.stderr)
        """,
        given=1,
    )
    assert run.ended is Ended.EXITED, run.output
    assert sorted(run.output.splitlines()) == [f"['LC_ALL', 'given'] '' {box.folder}", "to stderr"]
    assert read_artefact(box.folder, "out", 10) == b"made"
    assert os.stat(box.folder).st_uid == os.stat(box.folder / "out").st_uid == os.geteuid()


def test_cpu_seconds_include_children(box: Box) -> None:
    run = box.run(
        """
        import subprocess
        code = "import time\\nwhile time.process_time() < 0.4: pass"
        for _ in range(2):
            subprocess.run([sys.executable, "-I", "-S", "-c", code])
        """
    )
    assert run.ended is Ended.EXITED, run.output
    assert 0.8 <= run.cpu_s < 2.0


def test_given_files_can_be_read_and_not_changed(box: Box, elsewhere: Path) -> None:
    given = elsewhere / "input"
    given.write_text("input")
    given.chmod(0o666)
    run = box.run(
        """
        import json
        path = json.loads(os.environ["path"])
        print(open(path).read())
        try:
            open(path, "w").write("changed")
        except OSError as error:
            print("refused")
        """,
        readable=(given,),
        path=str(given),
    )
    assert run.output.split() == (["input", "refused"] if box.guards_files else ["input"])
    assert not box.guards_files or given.read_text() == "input"


# --- limits -------------------------------------------------------------------------------------------------------

FILL_MEMORY = """
kept = []
for _ in range(180):
    kept.append(b"x" * (5 << 20))
    time.sleep(0.005)
"""


def test_filling_memory_ends_the_run(box: Box) -> None:
    run = box.run(FILL_MEMORY)
    assert run.ended is Ended.MEMORY, run
    assert run.memory_bytes > LIMITS.memory_bytes
    assert re.fullmatch(r"used \d\.\d\d GiB of memory, limit 0\.292969", run.reason)


def test_memory_of_several_processes_adds_up(box: Box) -> None:
    run = box.run("for _ in range(3): os.fork() if os.getpid() else 0\nkept = b'x' * (60 << 20)\ntime.sleep(10)")
    assert run.ended is Ended.MEMORY, run


def test_shared_memory_counts_once(box: Box) -> None:
    run = box.run("kept = b'x' * (150 << 20)\nfor _ in range(2): os.fork()\ntime.sleep(0.7)")
    assert (run.ended, run.status) == (Ended.EXITED, 0), run
    assert 150 * MIB < run.memory_bytes < 300 * MIB


def test_memory_beyond_all_bounds_is_refused_to_the_program(box: Box) -> None:
    run = box.run("try:\n    kept = bytearray(64 << 30)\nexcept MemoryError:\n    print('refused')")
    assert (run.ended, run.output.strip()) == (Ended.EXITED, "refused")


def test_filling_the_disk_ends_the_run(box: Box) -> None:
    run = box.run(
        """
        for n in range(60):
            open(f"file{n}", "wb").write(b"x" * (1 << 20))
            time.sleep(0.02)
        time.sleep(5)
        """
    )
    assert run.ended is Ended.DISK, run


def test_files_without_a_name_count(box: Box) -> None:
    run = box.run(
        """
        kept = []
        for n in range(6):
            kept.append(open("nameless", "wb"))
            os.unlink("nameless")
            kept[-1].write(b"x" * (4 << 20))
            kept[-1].flush()
        print(os.listdir())
        time.sleep(15)
        """
    )
    assert run.ended is Ended.DISK, run
    assert list(box.folder.iterdir()) == []


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm", "/var/tmp", "/dev", "/"])
def test_no_other_place_is_free_to_fill(box: Box, place: str) -> None:
    if not box.guards_files:
        pytest.skip("without Landlock a subprocess may write where everyone may")
    run = box.run(
        """
        import json
        place, kept = json.loads(os.environ["place"]), []
        try:
            for n in range(6):
                kept.append(open(f"{place}/ragctx-attack-{n}", "wb"))
                kept[-1].write(b"x" * (4 << 20))
                kept[-1].flush()
            time.sleep(15)
        except OSError:
            print("refused")
        """,
        place=place,
    )
    if box.inside and place in ("/tmp", "/dev/shm"):
        assert run.ended is Ended.DISK, run
    else:
        assert (run.ended, run.output) == (Ended.EXITED, "refused\n")
    assert not os.path.exists(f"{place}/ragctx-attack-0")


@pytest.mark.parametrize("seen", ["signal", "error"])
def test_one_huge_file_is_stopped_at_the_limit(box: Box, seen: str) -> None:
    run = box.run(
        f"""
        if {seen == "signal"}:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        with open("huge", "wb", buffering=0) as stream:
            for _ in range(64):
                stream.write(b"x" * (1 << 20))
        """
    )
    assert run.ended is Ended.DISK, run
    assert run.reason == "a file reached the limit of 0.015625 GiB"
    assert (box.folder / "huge").stat().st_size == LIMITS.file_bytes


def test_many_small_files_end_the_run(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (run_folder_module, supervisor):
        monkeypatch.setattr(module, "MOST_ENTRIES", 300)
    run = box.run("for n in range(2000): open(f'{n}', 'w').close()\ntime.sleep(5)")
    assert (run.ended, run.reason) == (Ended.DISK, "made more than 300 files")


def test_a_tree_deeper_than_a_path_can_say_is_no_trouble(box: Box) -> None:
    run = box.run("for _ in range(700):\n    os.mkdir('d' * 10)\n    os.chdir('d' * 10)\ntime.sleep(5)")
    assert run.ended is Ended.DISK, run
    assert run.reason == "nested folders more than 64 deep"
    depth, here = 0, box.folder
    while (here / ("d" * 10)).exists():
        depth, here = depth + 1, here / ("d" * 10)
    assert depth == 63


def test_fork_bomb_is_bounded_and_gone(box: Box) -> None:
    run = box.run(
        """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        made = refused = 0
        for _ in range(200):
            try:
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(60)
                    os._exit(0)
                made += 1
            except BlockingIOError:
                refused += 1
        print(made, refused)
        """
    )
    made, refused = map(int, run.output.split())
    assert run.ended is Ended.EXITED
    assert made + refused == 200
    # As an ordinary user the rest of the user's threads are counted too, and some of them may have ended since.
    assert made <= LIMITS.processes + (0 if box.isolation.own_user or box.inside else 50)
    assert made >= 10


def test_a_fork_bomb_that_never_stops_ends_at_the_limit(box: Box) -> None:
    run = box.run(
        """
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                os.fork()
            except OSError:
                pass
        """,
        limits=replace(LIMITS, cpu_s=1.0),
    )
    assert run.ended is Ended.CPU, run


def test_daemon_that_leaves_its_session_and_parent_does_not_survive(box: Box) -> None:
    run = box.run(
        """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                for fd in range(3):
                    os.close(fd)
                open("started", "w").close()
                for _ in range(600):
                    with open("beats", "a") as stream:
                        stream.write(".")
                    time.sleep(0.02)
            os._exit(0)
        while not os.path.exists("started"):
            time.sleep(0.01)
        """
    )
    assert (run.ended, run.status) == (Ended.EXITED, 0), run
    beats = (box.folder / "beats").stat().st_size if (box.folder / "beats").exists() else 0
    time.sleep(0.2)
    assert not (box.folder / "beats").exists() or (box.folder / "beats").stat().st_size == beats


def test_sleeping_for_ever_is_idle(box: Box) -> None:
    run = box.run("time.sleep(60)", limits=replace(LIMITS, idle_wall_s=1.0))
    assert run.ended is Ended.IDLE, run
    assert run.reason.endswith("taken for deadlocked")
    assert run.status == signal.SIGKILL


def test_stopping_itself_is_idle(box: Box) -> None:
    run = box.run("os.kill(os.getpid(), signal.SIGSTOP)", limits=replace(LIMITS, idle_wall_s=1.0))
    assert run.ended is Ended.IDLE, run


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "[os.fork() for _ in range(2)]\nwhile True: pass",
        # Nobody waits for these children, so no parent's account ever holds what they used.
        """
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            if os.fork() == 0:
                while time.process_time() < 0.15: pass
                os._exit(0)
            try:
                os.wait()
            except ChildProcessError:
                pass
        """,
    ],
    ids=["alone", "forked", "never-reaped"],
)
def test_spinning_for_ever_ends_by_cpu(box: Box, code: str) -> None:
    run = box.run(code, limits=replace(LIMITS, cpu_s=0.5))
    assert run.ended is Ended.CPU, run
    assert run.cpu_s > 0.5
    assert re.fullmatch(r"used \d\.\d CPU-seconds, limit 0\.5", run.reason)


def test_ignoring_every_signal_does_not_help(box: Box) -> None:
    run = box.run(
        """
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(number, signal.SIG_IGN)
            except OSError:
                pass
        while True:
            time.sleep(0.01)
        """,
        limits=replace(LIMITS, wall_s=1.0),
    )
    assert run.ended is Ended.WALL, run


def test_printing_gigabytes_keeps_the_end(box: Box) -> None:
    run = box.run(
        """
        line = b"x" * 1023 + b"\\n"
        for _ in range(1024):
            sys.stdout.buffer.write(line * 1024)
        print("the end")
        """
    )
    assert (run.ended, run.status) == (Ended.EXITED, 0), run.reason
    assert len(run.output) == 20_000
    assert run.output.endswith("x\nthe end\n")


def test_output_that_is_no_text_is_shown_anyway(box: Box) -> None:
    run = box.run("sys.stdout.buffer.write(b'\\xff\\xfeab')")
    assert run.output == "\ufffd\ufffdab"
