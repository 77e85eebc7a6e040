"""Attacks on the sandbox, for real, in each isolation that works on this machine; every attack is bounded in itself."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ragctx.children import TPU_LESS_ENVIRONMENT
from ragctx.errors import RagctxError
from ragctx.verify import run_folder as run_folder_module
from ragctx.verify import sandbox, supervisor
from ragctx.verify.interpreter import interpreter_paths
from ragctx.verify.isolation import Isolation, IsolationKind, candidates
from ragctx.verify.limits import Ended, Limits, Run
from ragctx.verify.run_folder import read_artefact, run_folder
from ragctx.verify.sandbox import best_isolation, run_sandboxed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")

MIB = 1024**2
LIMITS = Limits(
    cpu_s=20, wall_s=40, idle_cpu_s=0.05, idle_wall_s=20, memory_bytes=300 * MIB, file_bytes=16 * MIB, processes=24
)
ENVIRONMENT = {"LC_ALL": "C.UTF-8"}  # set, so that Python does not add LC_CTYPE on its own
TOKEN = "ragctx-attack-token"


class Box:
    """One isolation with an interpreter that runs in it."""

    def __init__(self, isolation: Isolation, python: str, folder: Path) -> None:
        self.isolation = isolation
        self.python = python
        self.folder = folder

    @property
    def inside(self) -> bool:
        return self.isolation.kind is IsolationKind.BUBBLEWRAP

    @property
    def guards_files(self) -> bool:
        return self.inside or self.isolation.landlock > 0

    def run(self, code: str, *, limits: Limits = LIMITS, readable: tuple[Path, ...] = (), **more: object) -> Run:
        source = "import os, sys, time, signal\n" + textwrap.dedent(code)
        environment = {**ENVIRONMENT, **{k: json.dumps(v) for k, v in more.items()}}
        return run_sandboxed(
            [self.python, "-I", "-S", "-c", source, TOKEN],
            folder=self.folder,
            readable=[*interpreter_paths(self.python), *readable],
            limits=limits,
            environment=environment,
            isolation=self.isolation,
        )


def _box(kind: IsolationKind, folder: Path) -> Box:
    found = [isolation for isolation in candidates() if isolation.kind is kind]
    if not found:
        pytest.skip(f"no {kind} on this machine: apt-get install -y bubblewrap")
    failure = None
    for python in (sys.executable, "/usr/bin/python3"):
        failure = sandbox._tried(found[0], python)
        if failure is None:
            return Box(found[0], python, folder)
    pytest.skip(f"{kind} does not work on this machine: {failure}")


@pytest.fixture
def folder() -> Iterator[Path]:
    with run_folder() as path:
        yield path


@pytest.fixture(params=list(IsolationKind), ids=str)
def box(request: pytest.FixtureRequest, folder: Path) -> Box:
    return _box(request.param, folder)


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that is not the run's, which everybody on the machine may enter and write in."""
    with tempfile.TemporaryDirectory(prefix="ragctx-elsewhere-") as path:
        os.chmod(path, 0o777)
        yield Path(path)


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the user's, with a key in its environment."""
    process = subprocess.Popen(["sleep", "120"], env={"API_KEY": "sk-planted-key", "PATH": os.environ["PATH"]})
    yield process
    process.kill()
    process.wait()


def _alive_with(token: str) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if token.encode() in words:
            found.append(int(name))
    return found


@pytest.fixture(autouse=True)
def _nothing_survives() -> Iterator[None]:
    yield
    assert _alive_with(TOKEN) == []


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
    run = box.run("for _ in range(1500):\n    os.mkdir('d' * 10)\n    os.chdir('d' * 10)\ntime.sleep(5)")
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
        limits=replace(LIMITS, cpu_s=2.0),
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
                end = time.process_time() + 0.3
                while time.process_time() < end: pass
                os._exit(0)
            time.sleep(0.15)
        """,
    ],
    ids=["alone", "forked", "never-reaped"],
)
def test_spinning_for_ever_ends_by_cpu(box: Box, code: str) -> None:
    run = box.run(code, limits=replace(LIMITS, cpu_s=1.0))
    assert run.ended is Ended.CPU, run
    assert run.cpu_s > 1.0
    assert re.fullmatch(r"used \d\.\d CPU-seconds, limit 1", run.reason)


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


# --- reaching out -------------------------------------------------------------------------------------------------


def test_killing_its_parent_and_every_process_it_sees_harms_nobody(
    box: Box, bystander: subprocess.Popen[bytes]
) -> None:
    isolation = box.isolation
    if not (box.inside or isolation.own_user or isolation.landlock >= 6 or isolation.seccomp):
        pytest.skip("nothing here would stop it from ending the user's processes")
    run = box.run(
        """
        import json
        victims = [os.getppid(), json.loads(os.environ["test"]), json.loads(os.environ["bystander"])]
        victims += [int(name) for name in os.listdir("/proc") if name.isdigit()]
        for pid in victims:
            if pid != os.getpid():
                for number in (signal.SIGTERM, signal.SIGKILL):
                    try:
                        os.kill(pid, number)
                    except OSError:
                        pass
        try:
            os.kill(-1, signal.SIGKILL)
        except OSError:
            pass
        print("done")
        sys.exit(3)
        """,
        test=os.getpid(),
        bystander=bystander.pid,
    )
    assert (run.ended, run.status, run.output) == (Ended.EXITED, 3, "done\n")
    assert bystander.poll() is None


def test_writing_outside_leaves_nothing(box: Box, elsewhere: Path) -> None:
    places = [str(elsewhere), "/tmp", "/var/tmp", "/dev/shm", "/usr/lib", "/etc", "/root", str(Path.home())]
    if not box.guards_files:
        places = ["/usr/lib", "/etc", "/root"]
    run = box.run(
        """
        import json
        for place in json.loads(os.environ["places"]):
            for act in (lambda p: open(p, "w").close(), os.mkdir, lambda p: os.symlink("/", p)):
                try:
                    act(place + "/ragctx-attack-outside")
                except OSError:
                    pass
        try:
            open("../ragctx-attack-outside", "w").close()
        except OSError:
            pass
        print("done")
        """,
        places=places,
    )
    assert run.output == "done\n"
    assert [place for place in places if os.path.lexists(f"{place}/ragctx-attack-outside")] == []
    assert not box.guards_files or not (box.folder.parent / "ragctx-attack-outside").exists()


def test_keys_in_files_and_environments_cannot_be_read(
    box: Box, elsewhere: Path, bystander: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "sk-planted-key")
    (elsewhere / ".ssh").mkdir()
    files = [elsewhere / ".ssh" / "id_rsa", elsewhere / "config.json"]
    for path, mode in zip(files, (0o600, 0o644), strict=True):
        path.write_text("sk-planted-key")
        path.chmod(mode)
    secret = files if box.guards_files else files[:1] if box.isolation.own_user else []
    run = box.run(
        """
        import json
        key, places = "sk-planted" + "-key", json.loads(os.environ["places"])
        for name in os.listdir("/proc"):
            places += [f"/proc/{name}/environ", f"/proc/{name}/cwd/config.json"] if name.isdigit() else []
        found = [name for name, value in os.environ.items() if key in value]
        for place in places:
            try:
                if key in open(place, errors="replace").read():
                    found.append(place)
            except OSError:
                pass
        print("found", found)
        """,
        places=[*map(str, secret), "/etc/shadow"],
    )
    assert run.output == "found []\n"


def test_no_connection_leaves_the_sandbox(box: Box) -> None:
    if not box.inside and not box.isolation.seccomp:
        pytest.skip("nothing here would stop it")
    abstract = f"\0ragctx-attack-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(abstract)
        local.listen()
        for listener in (server, local):
            listener.setblocking(False)
        run = box.run(
            """
            import json, socket
            for family, address in (
                (socket.AF_INET, ("127.0.0.1", json.loads(os.environ["port"]))),
                (socket.AF_UNIX, json.loads(os.environ["local"])),
            ):
                try:
                    socket.socket(family).connect(address)
                    print("connected")
                except OSError:
                    print("refused")
            """,
            port=server.getsockname()[1],
            local=abstract,
        )
        assert run.output == "refused\nrefused\n"
        for listener in (server, local):
            with pytest.raises(BlockingIOError):
                listener.accept()


def test_no_new_namespaces_and_no_hidden_memory(box: Box) -> None:
    if not box.isolation.seccomp:
        pytest.skip("system calls are not filtered on this machine")
    run = box.run(
        """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        print(libc.unshare(0x10000000), os.strerror(ctypes.get_errno()))
        print(libc.shmget(0, 1 << 20, 0o1600), os.strerror(ctypes.get_errno()))
        try:
            os.memfd_create("hidden")
        except OSError as error:
            print(error.strerror)
        print(os.getuid() == 0, open("/proc/self/status").read().split("CapEff:")[1].split()[0])
        """
    )
    assert run.output.splitlines() == [
        "-1 Operation not permitted",
        "-1 Operation not permitted",
        "Function not implemented",
        "False 0000000000000000",
    ]


# --- what is left in the folder -----------------------------------------------------------------------------------


def test_links_and_pipes_are_gone_and_files_are_the_callers(box: Box, elsewhere: Path) -> None:
    (elsewhere / "secret").write_text("secret")
    run = box.run(
        """
        import json
        os.symlink(json.loads(os.environ["secret"]), "out.npy")
        os.symlink("/", "all")
        os.mkfifo("pipe")
        os.makedirs("sub/sub")
        os.symlink("/etc/passwd", "sub/sub/link")
        open("sub/sub/file", "w").write("kept")
        os.link("sub/sub/file", "sub/twice")
        os.chmod("sub/sub/file", 0o4000)
        os.chmod("sub/sub", 0)
        """,
        secret=str(elsewhere / "secret"),
    )
    assert (run.ended, run.status) == (Ended.EXITED, 0), run.output
    left = sorted(str(path.relative_to(box.folder)) for path in box.folder.rglob("*"))
    assert [path for path in left if path in ("sub/sub/file", "sub/twice")] == [left[-1]]
    assert left[:2] == ["sub", "sub/sub"] and len(left) == 3
    about = (box.folder / left[-1]).stat()
    assert (about.st_uid, about.st_mode & 0o7777) == (os.geteuid(), 0o600)
    with pytest.raises(RagctxError, match=r"out\.npy: the run left no such file"):
        read_artefact(box.folder, "out.npy", 100)


def test_deleting_its_own_folder_costs_only_its_files(box: Box) -> None:
    (box.folder / "input").write_text("x")
    run = box.run(
        """
        import shutil
        here = os.getcwd()
        shutil.rmtree(here, ignore_errors=True)
        for act in (os.rmdir, lambda p: os.rename(p, p + "-away")):
            try:
                act(here)
            except OSError:
                pass
        try:
            os.symlink("/etc", here)
        except OSError:
            pass
        """
    )
    assert run.ended is Ended.EXITED
    assert box.folder.is_dir() and not box.folder.is_symlink()
    assert list(box.folder.iterdir()) == []


def test_files_put_in_the_folder_are_the_runs_to_use(box: Box) -> None:
    (box.folder / "request.json").write_text("[1]")
    (box.folder / "request.json").chmod(0o600)
    run = box.run("print(open('request.json').read()); open('request.json', 'w').write('[2]')")
    assert run.output == "[1]\n"
    assert (box.folder / "request.json").read_text() == "[2]"


def test_read_artefact_takes_plain_files_below_the_folder_only(folder: Path, elsewhere: Path) -> None:
    (elsewhere / "secret").write_text("secret")
    (folder / "plain").write_bytes(b"12345")
    (folder / "link").symlink_to(elsewhere / "secret")
    (folder / "way").symlink_to(elsewhere)
    os.mkfifo(folder / "pipe")
    assert read_artefact(folder, "plain", 5) == b"12345"
    for name, problem in {
        "plain": "larger than 4 bytes",
        "none": "no such file",
        "link": "not a plain file",
        "way/secret": "not a plain file",
        "pipe": "not a plain file",
        "../x": "below its folder",
        "/etc/passwd": "below its folder",
        ".": "below its folder",
    }.items():
        with pytest.raises(RagctxError, match=problem):
            read_artefact(folder, name, 4)


# --- the caller ---------------------------------------------------------------------------------------------------

CALLER = """
import os, sys
from pathlib import Path
from ragctx.verify.interpreter import interpreter_paths
from ragctx.verify.isolation import candidates
from ragctx.verify.limits import Limits
from ragctx.verify.run_folder import run_folder
from ragctx.verify.sandbox import run_sandboxed
kind, python, token = sys.argv[1:]
isolation = next(i for i in candidates() if i.kind == kind)
code = "import os, time; os.fork() or os.setsid(); print(flush=True); time.sleep(60)"
with run_folder() as folder:
    print("ready", flush=True)
    try:
        run_sandboxed([python, "-I", "-S", "-c", code, token], folder=folder, readable=interpreter_paths(python),
                      limits=Limits(), environment={}, isolation=isolation)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(130)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_when_the_caller_ends_so_does_the_run(box: Box, number: signal.Signals, checkout: Path) -> None:
    command = [sys.executable, "-c", CALLER, box.isolation.kind, box.python, TOKEN + "-caller"]
    with subprocess.Popen(command, cwd=checkout, stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout is not None and caller.stdout.readline() == "ready\n"
        own = {caller.pid}
        _until(lambda: len(set(_alive_with(TOKEN + "-caller")) - own) >= 2)
        caller.send_signal(number)
        rest = caller.stdout.read()
    if number is signal.SIGINT:
        assert (caller.returncode, rest) == (130, "interrupted\n")
        assert _alive_with(TOKEN + "-caller") == []
    _until(lambda: not _alive_with(TOKEN + "-caller"))


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come about in 20 s")


def test_what_the_run_may_not_read_is_named(box: Box, elsewhere: Path) -> None:
    closed = elsewhere / "closed"
    closed.mkdir(mode=0o700)
    (closed / "input").write_text("x")
    if box.isolation.own_user:
        with pytest.raises(RagctxError, match=r"closed: the run's own user cannot use it: permission denied; let"):
            box.run("pass", readable=(closed,))
    with pytest.raises(RagctxError, match=r"absent"):
        box.run("pass", readable=(elsewhere / "absent",))


def test_a_program_that_cannot_start_is_bad_input_not_a_run(box: Box) -> None:
    for program, problem in (("/no/such/python", "/no/such/python"), ("python3", "needs its full path")):
        with pytest.raises(RagctxError, match=problem):
            run_sandboxed(
                [program], folder=box.folder, readable=[], limits=LIMITS, environment={}, isolation=box.isolation
            )


def test_a_folder_that_is_a_link_or_missing_is_refused(box: Box, elsewhere: Path) -> None:
    (elsewhere / "link").symlink_to(box.folder)
    for name in ("link", "missing"):
        with pytest.raises(RagctxError, match="not a folder to run in"):
            Box(box.isolation, box.python, elsewhere / name).run("pass")


def test_best_isolation_is_the_first_that_works(box: Box) -> None:
    best = best_isolation(python=box.python)
    works = [i for i in candidates() if sandbox._tried(i, box.python) is None]
    assert best == works[0]
    assert str(best.kind) in best.description


def test_requiring_bubblewrap_refuses_less_with_the_command_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ragctx.verify.isolation.shutil.which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None
    )
    with pytest.raises(RagctxError, match=r"bubblewrap is not installed; run: (sudo )?apt-get install -y bubblewrap"):
        best_isolation("bubblewrap")


def test_descriptions_say_what_is_missing() -> None:
    weak = Isolation(IsolationKind.SUBPROCESS, own_user=False, landlock=0, seccomp=False)
    assert weak.description == (
        "subprocess with limits as the user's own account; does not protect from network access, reading and changing "
        "the user's files, ending the user's other processes, seeing which processes run, "
        "changing the mode of the user's files"
    )
    strong = Isolation(IsolationKind.BUBBLEWRAP, own_user=True, landlock=0, seccomp=True)
    assert strong.description == (
        "bubblewrap: no network, own processes and /tmp, read-only system, a user of its own, limits"
    )


COMPILE = """
import os
import jax
import jax.numpy as jnp
from jax.experimental import topologies
topology = topologies.get_topology_desc(topology_name="v6e:2x2", platform="tpu")
sharding = jax.sharding.SingleDeviceSharding(topology.devices[0])
x = jax.ShapeDtypeStruct((256, 256), jnp.bfloat16, sharding=sharding)
lowered = jax.jit(lambda a: jnp.tanh(a @ a)).trace(x).lower(lowering_platforms=("tpu",))
print("HloModule" in lowered.compile().as_text(), float(jax.jit(jnp.sum)(jnp.ones(8))))
"""


@pytest.mark.slow
@pytest.mark.tpu_compiler
def test_the_tpu_compiler_runs_inside(box: Box) -> None:
    if box.python != sys.executable:
        pytest.skip("the interpreter with JAX cannot be reached by the run's own user")
    run = run_sandboxed(
        [box.python, "-I", "-c", COMPILE],
        folder=box.folder,
        readable=interpreter_paths(box.python),
        limits=Limits(),
        environment={**TPU_LESS_ENVIRONMENT, "TMPDIR": str(box.folder), "HOME": str(box.folder)},
        isolation=box.isolation,
    )
    assert run.output.splitlines()[-1] == "True 8.0", run.output
    assert (run.ended, run.status) == (Ended.EXITED, 0)
