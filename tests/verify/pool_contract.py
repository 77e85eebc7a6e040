"""What every pool does, whatever its workers are: inherited by the tests of each."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, as_completed
from pathlib import Path
from typing import Any

import pytest

from ragctx.errors import RagctxError
from ragctx.failures import FailureKind
from ragctx.verify.cache import VerdictCache
from ragctx.verify.jobs import DEFAULT_JUDGE, Job, JobOptions
from ragctx.verify.limits import Limits
from ragctx.verify.pool import VerifyPool
from ragctx.verify.run import verify_candidate
from ragctx.verify.verdict import Stage, Verdict

SOON_S = 60.0


class PoolContract:
    """Subclasses give `pool`: a factory of pools with two workers."""

    @pytest.fixture
    def pool(self, request: pytest.FixtureRequest) -> Callable[..., VerifyPool]:
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        (tmp_path / "workload.py").write_text("def workload(x):\n    return x\n")

    def job(self, line: str, name: str = "candidate", options: JobOptions | None = None) -> Job:
        path = self.folder / f"{name}.py"
        path.write_text(f"# {line}\n")
        return Job(path, self.folder / "workload.py", options or JobOptions())

    # --- results ---

    def test_verdicts_come_in_the_order_of_the_jobs(self, pool: Callable[..., VerifyPool]) -> None:
        kinds = ["wrong_values", "vmem_oom", "race", "syntax", "dma"]
        jobs = (self.job(f"fail {kind}", kind) for kind in kinds)
        with pool() as ours:
            verdicts = list(ours.map(jobs))
        assert [v.kind for v in verdicts] == [FailureKind(kind) for kind in kinds]
        assert {v.stage for v in verdicts} == {Stage.NUMERICS}

    def test_outcomes_come_as_they_end_where_asked(self, pool: Callable[..., VerifyPool]) -> None:
        go = self.folder / "go"
        jobs = [self.job(f"after {go}", "slow"), self.job("pass", "a"), self.job("pass", "b")]
        seen = []
        with pool() as ours:
            for outcome in ours.outcomes(jobs, ordered=False):
                seen.append(outcome.index)
                if len(seen) == 2:
                    go.touch()
        assert sorted(seen[:2]) == [1, 2] and seen[2] == 0

    def test_two_run_at_the_same_time(self, pool: Callable[..., VerifyPool]) -> None:
        place = self.folder / "there"
        place.mkdir()
        with pool() as ours:
            futures = [ours.submit(self.job(f"gather {place} 2", name)) for name in ("one", "two")]
            assert [f.result(SOON_S).passed for f in futures] == [True, True]

    def test_a_worker_serves_one_job(self, pool: Callable[..., VerifyPool]) -> None:
        with pool() as ours:
            verdicts = list(ours.map(self.job("pass", f"c{n}") for n in range(4)))
        assert len({v.notes[0] for v in verdicts}) == 4

    def test_only_a_few_jobs_are_taken_ahead(self, pool: Callable[..., VerifyPool]) -> None:
        taken = []

        def jobs() -> Iterator[Job]:
            for n in range(12):
                taken.append(n)
                yield self.job("pass", f"c{n}")

        with pool() as ours:
            outcomes = ours.outcomes(jobs())
            next(outcomes)
            assert len(taken) <= 4
            assert [o.index for o in outcomes] == list(range(1, 12))

    def test_options_arrive(self, pool: Callable[..., VerifyPool]) -> None:
        options = JobOptions(
            targets=("v5e", "v4"), stages=("trace",), seeds=(7,), min_pallas_share=0.25, limits=Limits(cpu_s=3.5)
        )
        with pool() as ours:
            (verdict,) = ours.map([self.job("options", options=options)])
        assert verdict.notes == tuple(f"{name}={options.arguments()[name]!r}" for name in sorted(options.arguments()))

    def test_what_is_printed_is_no_answer(self, pool: Callable[..., VerifyPool]) -> None:
        with pool() as ours:
            (verdict,) = ours.map([self.job("print")])
        assert verdict.passed is True

    def test_a_workload_finds_what_lies_beside_it(self, pool: Callable[..., VerifyPool]) -> None:
        (self.folder / "pool_neighbour.py").write_text("VALUE = 41\n")
        (self.folder / "workload.py").write_text("import pool_neighbour\n\ndef workload(x):\n    return x\n")
        with pool() as ours:
            (verdict,) = ours.map([self.job("import")])
        assert verdict.notes[-1] == "value 41"

    def test_a_coroutine_awaits_verdicts(self, pool: Callable[..., VerifyPool]) -> None:
        async def both() -> list[Verdict]:
            async with pool() as ours:
                jobs = [self.job("fail race", "a"), self.job("pass", "b")]
                return await asyncio.gather(*(ours.verify(job) for job in jobs))

        assert [v.kind for v in asyncio.run(both())] == [FailureKind.RACE, None]

    @pytest.mark.slow
    @pytest.mark.tpu_compiler
    def test_the_real_judge_gives_the_verdicts_it_gives_without_a_pool(self, pool: Callable[..., VerifyPool]) -> None:
        kernels = Path(__file__).with_name("kernels")
        good = (kernels / "good_scale_rows.py").read_text()
        options = JobOptions(seeds=(0,), cache=self.folder / "references")
        jobs = []
        for name, text in (
            ("good", good),
            ("block", good.replace("(64, width)", "(60, width)")),
            ("values", good.replace("1.0 + jnp", "2.0 + jnp")),
            ("syntax", good.replace("return", "retrun")),
        ):
            path = self.folder / f"{name}.py"
            path.write_text(text)
            jobs.append(Job(path, kernels / "workloads" / "scale_rows.py", options))
        with pool(judge=DEFAULT_JUDGE, expect=jobs[0]) as ours:
            verdicts = list(ours.map(jobs))
        assert [(v.stage, v.kind, v.passed) for v in verdicts] == [
            (Stage.DONE, None, True),
            (Stage.LOWER, FailureKind.BLOCK_SHAPE, False),
            (Stage.NUMERICS, FailureKind.WRONG_VALUES, False),
            (Stage.PARSE, FailureKind.SYNTAX, False),
        ]
        for job, verdict in zip(jobs, verdicts, strict=True):
            assert comparable(verdict) == comparable(
                verify_candidate(job.candidate, job.workload, **job.options.arguments())
            )

    # --- what goes wrong ---

    def test_a_worker_that_dies_costs_one_retry(self, pool: Callable[..., VerifyPool]) -> None:
        with pool() as ours:
            (verdict,) = ours.map([self.job(f"die-once {self.folder / 'mark'}")])
        assert verdict.passed is True and (self.folder / "mark").exists()

    def test_then_it_is_a_crash(self, pool: Callable[..., VerifyPool]) -> None:
        with pool() as ours:
            killed, left, after = ours.map([self.job("die", "a"), self.job("exit", "b"), self.job("pass", "c")])
        assert (killed.kind, killed.passed) == (FailureKind.CRASH, False)
        assert killed.message == "the worker died 2 times: signal SIGKILL"
        assert left.message == "the worker died 2 times: status 7; going away"
        assert after.passed is True

    def test_bad_input_is_an_error_of_its_job(self, pool: Callable[..., VerifyPool]) -> None:
        missing = Job(self.folder / "missing.py", self.folder / "workload.py")
        with pool() as ours:
            first, second, third = ours.outcomes([self.job("bad-input", "a"), missing, self.job("pass", "b")])
        assert first.verdict is None and first.error is not None
        assert first.error.problem == "the workload does not trace" and first.error.remedy == "mend it"
        assert first.error.where == str(self.folder / "workload.py")
        with pytest.raises(RagctxError, match="no such candidate"):
            second.result()
        assert third.result().passed is True

    def test_a_mistake_of_ours_is_undecided(self, pool: Callable[..., VerifyPool]) -> None:
        with pool() as ours:
            (verdict,) = ours.map([self.job("bug")])
        assert (verdict.passed, verdict.kind) == (None, None)
        assert verdict.message == "ragctx failed: KeyError: 'a mistake of ours'"

    # --- ending early ---

    def test_cancelling_ends_the_worker(self, pool: Callable[..., VerifyPool]) -> None:
        with pool() as ours:
            future = ours.submit(self.job(f"wait {self.folder / 'pids'}", "a"))
            pids = self.wait_for_pids()
            assert future.cancel()
            with pytest.raises(CancelledError):
                future.result()
            assert list(as_completed([future], timeout=SOON_S)) == [future]
            self.wait_until_gone(pids)
            (verdict,) = ours.map([self.job("pass", "b")])
        assert verdict.passed is True

    def test_cancelling_a_task_ends_the_worker(self, pool: Callable[..., VerifyPool]) -> None:
        async def cancelled() -> list[int]:
            async with pool() as ours:
                task = asyncio.create_task(ours.verify(self.job(f"wait {self.folder / 'pids'}")))
                pids = await asyncio.to_thread(self.wait_for_pids)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await asyncio.to_thread(self.wait_until_gone, pids)
                return pids

        assert len(asyncio.run(cancelled())) == 2

    def test_an_interrupt_leaves_no_process(self, pool: Callable[..., VerifyPool]) -> None:
        ours = pool()
        with pytest.raises(KeyboardInterrupt):
            with ours:
                ours.submit(self.job(f"wait {self.folder / 'pids'}"))
                pids = self.wait_for_pids()
                raise KeyboardInterrupt
        self.wait_until_gone(pids)
        with pytest.raises(RuntimeError, match="the pool is closed"):
            ours.submit(self.job("pass"))

    def test_leaving_outcomes_early_cancels_the_rest(self, pool: Callable[..., VerifyPool]) -> None:
        jobs = [self.job("pass", "a"), self.job(f"wait {self.folder / 'pids'}", "b"), self.job("pass", "c")]
        with pool() as ours, contextlib.closing(ours.outcomes(jobs)) as outcomes:
            assert next(outcomes).result().passed is True
            pids = self.wait_for_pids()
            outcomes.close()
            self.wait_until_gone(pids)

    # --- the cache ---

    def test_a_kept_verdict_needs_no_worker(self, pool: Callable[..., VerifyPool]) -> None:
        cache = VerdictCache(self.folder / "cache")
        with pool(cache=cache) as ours:
            (first,) = ours.map([self.job("fail dma")])
        with pool(cache=cache) as ours:
            (again,) = ours.map([self.job("fail dma")])
            assert not [t for t in threading.enumerate() if t.name.startswith("ragctx-slot")]
        assert again == first and again.notes[0] == first.notes[0]

    # --- helpers ---

    def wait_for_pids(self) -> list[int]:
        path = self.folder / "pids"
        self.wait_until(path.exists)
        return [int(word) for word in path.read_text().split()]

    def wait_until_gone(self, pids: list[int]) -> None:
        self.wait_until(lambda: not any(alive(pid) for pid in pids))

    @staticmethod
    def wait_until(condition: Callable[[], Any]) -> None:
        end = time.monotonic() + SOON_S
        while not condition():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.02)


def comparable(verdict: Verdict) -> dict[str, Any]:
    """Return what of a verdict does not hang on when and where it was made."""
    value = verdict.to_json()
    for stage in value["stages"]:
        del stage["cpu_s"]
    # One seed more than asked for follows from the bytes of the program, and those from the folder it was traced in.
    for name in ("seeds", "mismatch", "message"):
        del value[name]
    value["stages"] = [{**stage, "reason": stage["reason"][:20]} for stage in value["stages"]]
    return value


def alive(pid: int) -> bool:
    """Return whether a process runs (a zombie does not)."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def running_below(folder: Path) -> list[int]:
    """Return processes whose temporary files lie below a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if f"TMPDIR={folder}".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
    return found
