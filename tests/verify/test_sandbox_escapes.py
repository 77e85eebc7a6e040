"""Ways out of the sandbox: processes, files, keys, sockets, what is left in the folder, and the caller's own end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from boxes import LIMITS, TOKEN, Box, alive_with

from ragctx.children import TPU_LESS_ENVIRONMENT
from ragctx.errors import RagctxError
from ragctx.verify import sandbox
from ragctx.verify.interpreter import interpreter_paths
from ragctx.verify.isolation import Isolation, IsolationKind, candidates
from ragctx.verify.limits import Ended, Limits
from ragctx.verify.run_folder import read_artefact
from ragctx.verify.sandbox import best_isolation, run_sandboxed

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
def test_when_the_caller_ends_so_does_the_run(
    box: Box, number: signal.Signals, checkout: Path, elsewhere: Path
) -> None:
    command = [sys.executable, "-c", CALLER, box.isolation.kind, box.python, TOKEN + "-caller"]
    environment = {**os.environ, "TMPDIR": str(elsewhere)}  # a killed caller leaves its folders behind
    with subprocess.Popen(command, cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout is not None and caller.stdout.readline() == "ready\n"
        own = {caller.pid}
        _until(lambda: len(set(alive_with(TOKEN + "-caller")) - own) >= 2)
        caller.send_signal(number)
        rest = caller.stdout.read()
    if number is signal.SIGINT:
        assert (caller.returncode, rest) == (130, "interrupted\n")
        assert alive_with(TOKEN + "-caller") == []
    _until(lambda: not alive_with(TOKEN + "-caller"))


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
