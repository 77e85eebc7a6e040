"""Interpreters that wait in their sandbox with JAX imported."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragctx.verify import prestart, sandbox
from ragctx.verify.isolation import Isolation, IsolationKind, candidates
from ragctx.verify.limits import Ended, Limits
from ragctx.verify.prestart import Place, folder_for, start, waiting_in
from ragctx.verify.process_watch import TreeWatch
from ragctx.verify.sandbox import best_isolation

LIMITS = Limits(cpu_s=900, wall_s=120)
REPORT = """
import json, os, resource, sys
report, given = sys.argv[1:]
found = {"main": __name__, "argv": sys.argv, "jax": "jax" in sys.modules, "uid": os.getuid(),
         "pallas": "jax.experimental.pallas.tpu" in sys.modules, "given": open(given).read(),
         "cpu_s": resource.getrlimit(resource.RLIMIT_CPU),
         "started": "jax._src.xla_bridge" in sys.modules and bool(sys.modules["jax._src.xla_bridge"]._backends)}
open(report, "w").write(json.dumps(found))
"""


@pytest.fixture(params=[isolation.kind for isolation in candidates()])
def isolation(request: pytest.FixtureRequest) -> Isolation:
    found = next(isolation for isolation in candidates() if isolation.kind == request.param)
    why_not = sandbox._tried(found, sys.executable)
    if why_not is not None:
        pytest.skip(str(why_not))
    return found


@pytest.fixture
def place(isolation: Isolation) -> Iterator[Place]:
    yield Place(sys.executable, isolation, LIMITS)
    prestart.discard()


def run(place: Place, text: str, limits: Limits = LIMITS) -> tuple[prestart.Run, str, bool]:
    """Run a script in a waiting interpreter; return what became of it, what it reported, and whether it was there."""
    with folder_for(place) as folder:
        (folder / "script.py").write_text(text)
        (folder / "given").write_text("hello")
        waiting = waiting_in(folder)
        assert waiting is not None and waiting_in(folder) is None
        arguments = [str(folder / "report.json"), str(folder / "given")]
        ended = waiting.run(str(folder / "script.py"), arguments, limits)
        report = folder / "report.json"
        assert report.stat().st_uid == os.getuid() if report.exists() else True
        answer = report.read_text() if report.exists() else ""
        assert not any(path.is_fifo() for path in folder.iterdir())
    return ended, answer, folder.exists()


def test_it_becomes_the_script_with_jax_imported(place: Place) -> None:
    start(place)
    ended, answer, left = run(place, REPORT)
    found = json.loads(answer)
    assert (ended.ended, ended.status) == (Ended.EXITED, 0), ended.output
    assert (found["main"], found["jax"], found["pallas"], found["given"]) == ("__main__", True, True, "hello")
    assert [Path(argument).name for argument in found["argv"]] == ["script.py", "report.json", "given"]
    assert found["started"] is False, "no device was touched before there was a script"
    assert (found["uid"] != os.getuid()) == place.isolation.own_user
    assert found["cpu_s"] == [905, 905], "a backstop above the limit, which is enforced from outside"
    assert not left
    assert ended.cpu_s > 0.1, "importing JAX counts"


def until_it_waits(waiting: prestart.Waiting) -> tuple[int, ...]:
    """Return its processes once JAX is imported and the pipe is open."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        pids = TreeWatch(waiting._session.process.pid, waiting._skip).look().pids
        for pid in pids:
            with contextlib.suppress(OSError):
                if any(link.readlink().name == prestart.PIPE for link in Path(f"/proc/{pid}/fd").iterdir()):
                    return pids
        time.sleep(0.05)
    raise AssertionError("it never waited")


def test_waiting_is_no_deadlock_but_idling_is(place: Place) -> None:
    start(place)
    until_it_waits(prestart._waiting[0])
    time.sleep(2.5)
    quick = Limits(cpu_s=60, wall_s=120, idle_wall_s=2.0, idle_cpu_s=0.02)
    ended, answer, _ = run(place, REPORT, quick)
    assert (ended.ended, bool(answer)) == (Ended.EXITED, True)
    start(place)
    ended, _, _ = run(place, "import time\ntime.sleep(600)\n", quick)
    assert ended.ended is Ended.IDLE


def test_cpu_time_is_limited(place: Place) -> None:
    start(place)
    ended, _, _ = run(place, "while True: pass\n", Limits(cpu_s=2, wall_s=120))
    assert ended.ended is Ended.CPU and 1.9 < ended.cpu_s < 8


def test_its_folder_is_all_it_may_write(place: Place, tmp_path: Path) -> None:
    start(place)
    outside = Path("/var/tmp") / f"ragctx-test-{os.getpid()}"
    ended, _, _ = run(place, f"open({str(outside)!r}, 'w')\n")
    assert (ended.ended, ended.status) == (Ended.EXITED, 1)
    assert "Error" in ended.output and not outside.exists()


def test_only_an_equal_place_finds_it(place: Place) -> None:
    start(place)
    elsewhere = Place(place.python, place.isolation, place.limits, devices=4)
    other_times = Place(place.python, place.isolation, Limits(cpu_s=1, wall_s=1, idle_wall_s=1))
    with folder_for(elsewhere) as folder:
        assert waiting_in(folder) is None and list(folder.iterdir()) == []
    with folder_for(other_times) as folder:
        assert waiting_in(folder) is not None
    with folder_for(place) as folder:
        assert waiting_in(folder) is None, "each serves one run"


def test_one_that_died_is_not_found(place: Place) -> None:
    start(place)
    waiting = prestart._waiting[0]
    pids = until_it_waits(waiting)
    end = time.monotonic() + 60
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    while waiting.alive and time.monotonic() < end:
        time.sleep(0.02)
    with folder_for(place) as folder:
        assert waiting_in(folder) is None


def test_nothing_is_left_of_what_was_not_needed(place: Place) -> None:
    start(place)
    waiting = prestart._waiting[0]
    assert waiting.alive and waiting.folder.exists()
    prestart.discard()
    assert not waiting.folder.exists() and waiting._session.process.returncode is not None


def test_a_folder_that_was_not_used_is_removed(place: Place) -> None:
    start(place)
    with pytest.raises(KeyboardInterrupt), folder_for(place) as folder:
        waiting = prestart._taken[folder]
        raise KeyboardInterrupt
    assert not folder.exists() and waiting._session.process.returncode is not None


def test_the_isolation_in_force_has_one_unless_runs_can_reach_each_other() -> None:
    isolation = best_isolation()
    apart = isolation.kind is IsolationKind.BUBBLEWRAP or isolation.own_user or isolation.landlock > 0
    assert start(Place(sys.executable, isolation, LIMITS)) is apart
    prestart.discard()
    weak = Isolation(IsolationKind.SUBPROCESS, own_user=False, landlock=0, seccomp=True)
    assert start(Place(sys.executable, weak, LIMITS)) is False
