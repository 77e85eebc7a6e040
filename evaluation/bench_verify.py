"""How fast verdicts come: kept ones, those that fail before compiling, whole ones, and many over several workers.

    python evaluation/bench_verify.py                     # the goals of `ragctx verify`, on this machine
    python evaluation/bench_verify.py --rounds 1 --jobs 4 --out /tmp/results

Candidates are the kernels of evaluation/kernels. Everything goes through the pool, with a cache of verdicts only where
kept ones are timed. A worker is given some seconds to get ready before it is timed, as it has while a model writes.
Throughput is measured in rounds that alternate between one pinned worker, two pinned workers and one unpinned, all on
the same jobs; the ratios are of the medians of one run of this script. Times are wall-clock seconds: on a busy machine
they are upper bounds. Writes verify.json and verify.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ragctx import data
from ragctx.verify.cache import VerdictCache, interpreter_versions
from ragctx.verify.jobs import Job, JobOptions
from ragctx.verify.pool import open_pool
from ragctx.verify.verdict import Verdict

READY_S = 6.0
KEPT_LOOKUPS = 200
KERNELS = Path(__file__).parent / "kernels"
WORKLOADS = ("12p_RMSNorm", "8p_GEMM", "1p_Flash_Attention")
FAILING = "raise ValueError('a candidate that cannot be imported')\n"
SETTINGS = (("one pinned", 1, True), ("two pinned", 2, True), ("one unpinned", 1, False))


@dataclass(frozen=True, slots=True)
class Measurement:
    """One line of the report.

    Attributes:
        what: What was timed.
        value: Median.
        worst: The largest, or None for a ratio.
        unit: Of both: ms, s or x.
        goal: What it should reach.
        at_most: Whether the goal is an upper bound.
        count: How many were timed.
    """

    what: str
    value: float
    worst: float | None
    unit: str
    goal: float
    at_most: bool
    count: int

    @property
    def reached(self) -> bool:
        """Whether the goal is reached."""
        return self.value <= self.goal if self.at_most else self.value >= self.goal


def main() -> int:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each throughput setting, and of each verdict")
    parser.add_argument("--jobs", type=int, default=8, help="candidates a round")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    load_before = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="ragctx-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        jobs = [_job(folder, name) for name in WORKLOADS]
        measurements = [
            _check(folder, options.rounds),
            _kept(folder, jobs[0]),
            _failing(folder, jobs[0], options.rounds),
            *(_whole(job, options.rounds) for job in jobs),
            *_throughput(folder, jobs, options.rounds, options.jobs),
        ]
    result = {
        "command": shlex.join(["python", "evaluation/bench_verify.py", *sys.argv[1:]]),
        "load_average_before": [round(value, 2) for value in load_before],
        "load_average_after": [round(value, 2) for value in os.getloadavg()],
        "machine": {"cpus": os.cpu_count(), "processor": platform.machine()},
        "versions": dict(interpreter_versions(None)),
        "measurements": [{**asdict(m), "reached": m.reached} for m in measurements],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "verify.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    markdown = report(result, measurements)
    (options.out / "verify.md").write_text(markdown, encoding="utf-8")
    print(markdown, end="")
    return 0


def _job(folder: Path, name: str) -> Job:
    return Job(KERNELS / f"{name}.py", data.workloads() / f"{name}.py", JobOptions(cache=folder / "cache"))


def _variant(folder: Path, job: Job, name: str, more: str = "") -> Job:
    """Return a job for a candidate of the same text under another name."""
    path = folder / f"{name}.py"
    path.write_text(job.candidate.read_text(encoding="utf-8") + more, encoding="utf-8")
    return Job(path, job.workload, job.options)


def _say(text: str) -> None:
    print(f"{text} ...", file=sys.stderr)


def _timed(what: str, seconds: Sequence[float], unit: str, goal: float) -> Measurement:
    scale = 1000.0 if unit == "ms" else 1.0
    median, worst = (round(scale * value, 2) for value in (statistics.median(seconds), max(seconds)))
    return Measurement(what, median, worst, unit, goal, True, len(seconds))


def _check(folder: Path, rounds: int) -> Measurement:
    _say("API check")
    file = KERNELS / f"{WORKLOADS[0]}.py"
    environment = {**os.environ, "RAGCTX_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "ragctx", "check", str(file)]
    seconds = []
    for _ in range(1 + max(5, rounds)):
        start = time.perf_counter()
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    return _timed("`ragctx check` of a file, the whole process, symbol table cached", seconds[1:], "s", 0.3)


def _kept(folder: Path, job: Job) -> Measurement:
    """Time verdicts that are kept: files read, key made, entry read, all in a process that has done it before."""
    _say("kept verdicts")
    with open_pool(1, cache=VerdictCache(folder / "verdicts")) as pool:
        _expect(next(pool.map([job])), passed=True)
        seconds = []
        for _ in range(KEPT_LOOKUPS):
            start = time.perf_counter()
            verdict = pool.submit(job).result()
            seconds.append(time.perf_counter() - start)
            _expect(verdict, passed=True)
    return _timed("a kept verdict", seconds, "ms", 5.0)


def _failing(folder: Path, job: Job, rounds: int) -> Measurement:
    _say("candidates that fail before compiling")
    failing = _variant(folder, job, "failing", FAILING)
    seconds = _warm(failing, rounds, passed=False, stage="import")
    return _timed("a candidate that fails when imported, on a warm worker", seconds, "s", 2.0)


def _whole(job: Job, rounds: int) -> Measurement:
    _say(f"whole verdicts for {job.workload.stem}")
    seconds = _warm(job, rounds, passed=True, stage="done")
    return _timed(f"a whole verdict for {job.workload.stem}, on a warm worker", seconds, "s", 10.0)


def _warm(job: Job, rounds: int, *, passed: bool, stage: str) -> list[float]:
    seconds = []
    with open_pool(1, expect=job) as pool:
        pool.start()
        next(pool.map([job]))
        for _ in range(rounds):
            time.sleep(READY_S)
            start = time.perf_counter()
            verdict = pool.submit(job).result()
            seconds.append(time.perf_counter() - start)
            _expect(verdict, passed=passed, stage=stage)
    return seconds


def _expect(verdict: Verdict, *, passed: bool, stage: str | None = None) -> None:
    """Stop where the verdict is not the one that is to be timed."""
    if verdict.passed is not passed or (stage is not None and verdict.stage != stage):
        raise SystemExit(f"not the verdict to time: {verdict.stage} {verdict.kind} {verdict.message}")


def _throughput(folder: Path, jobs: Sequence[Job], rounds: int, count: int) -> list[Measurement]:
    """Time the same jobs over each setting, in alternating rounds."""
    batch = [_variant(folder, jobs[n % len(jobs)], f"candidate_{n}") for n in range(count)]
    seconds: dict[str, list[float]] = {name: [] for name, _, _ in SETTINGS}
    for number in range(rounds):
        for name, workers, pin in SETTINGS:
            _say(f"{count} candidates, {name}, round {number + 1} of {rounds}")
            with open_pool(workers, pin=pin, expect=batch[0]) as pool:
                pool.start()
                time.sleep(READY_S)
                start = time.perf_counter()
                verdicts = list(pool.map(batch))
                seconds[name].append(time.perf_counter() - start)
            for verdict in verdicts:
                _expect(verdict, passed=True)
    two = statistics.median(seconds["two pinned"])
    return [
        Measurement(
            f"candidates a minute, two workers with a core each against {other}",
            round(statistics.median(seconds[other]) / two, 2),
            None,
            "x",
            goal,
            False,
            rounds,
        )
        for other, goal in (("one pinned", 1.8), ("one unpinned", 1.4))
    ]


def report(result: dict[str, Any], measurements: Sequence[Measurement]) -> str:
    """Return the results as Markdown."""
    machine, versions = result["machine"], result["versions"]
    lines = [
        "# How fast verdicts come",
        "",
        f"Made by `{result['command']}`; load average {result['load_average_before'][0]} before and",
        f"{result['load_average_after'][0]} after, on {machine['cpus']} CPUs, Python {versions['python']}, "
        f"jax {versions.get('jax', '-')}, libtpu {versions.get('libtpu', '-')}.",
        "",
        "Wall-clock times; medians, and the worst of the number timed. Ratios are of medians, in alternating rounds.",
        "",
        "| what | median | worst | number | goal | reached |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {m.what} | {m.value:g} {m.unit} | {'-' if m.worst is None else f'{m.worst:g} {m.unit}'} | {m.count} "
        f"| {'at most' if m.at_most else 'at least'} {m.goal:g} {m.unit} | {'yes' if m.reached else 'no'} |"
        for m in measurements
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
