"""The pool over this machine's processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pool_contract import PoolContract, alive, running_below
from pool_judges import judge

from ragctx.verify.jobs import Job
from ragctx.verify.pool import VerifyPool, open_pool
from ragctx.verify.pool_local import LocalPool


class TestLocalPool(PoolContract):
    @pytest.fixture
    def pool(self, tmp_path: Path) -> Callable[..., VerifyPool]:
        def make(**options: Any) -> VerifyPool:
            return LocalPool(2, folder=tmp_path, **{"judge": judge, **options})

        return make

    def test_a_pinned_worker_keeps_to_one_core(self, pool: Callable[..., VerifyPool]) -> None:
        cores = sorted(os.sched_getaffinity(0))
        place = self.folder / "there"
        place.mkdir()
        with pool(pin=True) as ours:
            verdicts = list(ours.map(self.job(f"gather {place} 2", name) for name in ("one", "two")))
        expected = {f"cpus [{cores[n % len(cores)]}]" for n in range(2)}
        assert {v.notes[1] for v in verdicts} == expected

    def test_an_unpinned_worker_has_all_cores(self, pool: Callable[..., VerifyPool]) -> None:
        with pool(pin=False) as ours:
            (verdict,) = ours.map([self.job("pass")])
        assert verdict.notes[1] == f"cpus {sorted(os.sched_getaffinity(0))}"

    def test_a_worker_waits_before_there_is_a_job(self, pool: Callable[..., VerifyPool]) -> None:
        with pool() as ours:
            ours.start()
            self.wait_until(lambda: len(running_below(self.folder)) == 2)
            waiting = {f"pid {pid}" for pid in running_below(self.folder)}
            (verdict,) = ours.map([self.job("pass")])
        assert verdict.notes[0] in waiting

    def test_nothing_is_left(self, pool: Callable[..., VerifyPool]) -> None:
        with pool() as ours:
            list(ours.map(self.job(word, word) for word in ("pass", "die", "bug")))
        assert running_below(self.folder) == []
        assert list(self.folder.glob("ragctx-pool-*")) == []

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
    def test_nothing_outlives_the_process_of_the_pool(self, number: signal.Signals) -> None:
        job = self.job(f"wait {self.folder / 'pids'}")
        code = (
            "import sys, pathlib\n"
            "from ragctx.verify.pool import open_pool\n"
            "from ragctx.verify.jobs import Job\n"
            "paths = [pathlib.Path(a) for a in sys.argv[1:4]]\n"
            "with open_pool(2, judge=sys.argv[4], folder=paths[2]) as pool:\n"
            "    list(pool.map([Job(paths[0], paths[1])]))\n"
        )
        name = f"{Path(__file__).with_name('pool_judges.py')}:judge"
        command = [sys.executable, "-c", code, str(job.candidate), str(job.workload), str(self.folder), name]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            pids = self.wait_for_pids()
            assert all(alive(pid) for pid in pids)
            process.send_signal(number)
            assert process.stderr is not None
            errors = process.stderr.read()
            process.wait()
        assert (b"KeyboardInterrupt" in errors) == (number == signal.SIGINT)
        self.wait_until_gone(pids)
        self.wait_until(lambda: running_below(self.folder) == [])

    def test_open_pool_is_local_unless_a_cluster_is_named(self) -> None:
        assert isinstance(open_pool(1), LocalPool)


def test_a_judge_must_be_found_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at the top of a module"):
        open_pool(1, judge=lambda candidate, workload: None)


def test_a_judge_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "c.py").write_text("# pass\n")
    with open_pool(1, judge="ragctx.verify.run:no_such_function", folder=tmp_path) as pool:
        (outcome,) = pool.outcomes([Job(tmp_path / "c.py", tmp_path / "c.py")])
    assert outcome.verdict is None
    assert str(outcome.error) == (
        "ragctx.verify.run:no_such_function: no such judge: "
        "module 'ragctx.verify.run' has no attribute 'no_such_function'"
    )
