"""Device time of a program: measured on a TPU by the profiler, or estimated from what the compiler made of it.

Without a TPU two methods can give a number. `schedule` walks the final schedule of every operation (bundles by the real
trip counts, DMAs by HBM's bandwidth); it knows Pallas kernels from the inside. `cost_analysis` is the compiler's own
figure and knows plain XLA only. Where neither can support a number, `ms` is None and `detail` says why.

evaluation/results/latency.md holds both against published latencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ragctx import targets
from ragctx.children import TPU_LESS_ENVIRONMENT, run_script
from ragctx.errors import RagctxError
from ragctx.verify.verdict import Latency

WARMUPS = 5
RUNS = 50
GIB = 1024**3


@dataclass(frozen=True, slots=True)
class MachineModel:
    """What a schedule is timed with.

    Attributes:
        clock_hz: Bundles a second.
        hbm_bytes_per_s: Peak bandwidth of HBM.
        hbm_efficiency: Share of the peak that DMAs reach.
        dma_s: Time a DMA occupies HBM beyond its bytes.
        latency_s: From a DMA's last byte to the end of the wait for it.
    """

    clock_hz: float
    hbm_bytes_per_s: float
    hbm_efficiency: float
    dma_s: float = 0.0
    latency_s: float = 0.0


# v6e only. Elsewhere the method is not established: on v5e a GEMM's schedule issues 1.2 times the matrix work a bundle
# that the peak allows at any clock, so it waits in ways the schedule does not show, and the schedules of v4, v5p and
# tpu7x synchronise cores or branch in ways the walk does not follow. The clock follows from the compiler's own peak and
# the widest schedule; the efficiency is the one figure fitted on published times (evaluation/results/latency.md).
MACHINES: Mapping[str, MachineModel] = {
    "v6e": MachineModel(
        clock_hz=1.75e9,
        hbm_bytes_per_s=targets.get("v6e").hbm_bytes_per_s,
        hbm_efficiency=0.76,
    ),
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the child found of one program.

    Attributes:
        latency: The number to use, by the method that supports one.
        schedule: The schedule's.
        cost_analysis: The compiler's.
        memory: Bytes of HBM the program needs, by part, or None if it did not compile.
        note: A line for a reader if it needs more HBM than the target gives one program, or nearly as much; else "".
        pallas: Whether the program has Pallas kernels of its own, or None.
        versions: Versions of what compiled it.
        error: Why it did not compile, or "".
    """

    latency: Latency
    schedule: Latency
    cost_analysis: Latency
    memory: Mapping[str, int] | None
    note: str
    pallas: bool | None
    versions: Mapping[str, str]
    error: str = ""


def machine_for(target: str) -> dict[str, float] | None:
    """Return the machine model of a target as the child takes it, or None where the method is not established."""
    model = MACHINES.get(target)
    return None if model is None else asdict(model)


def estimate(
    program: Path,
    *,
    target: str = targets.DEFAULT_TARGET,
    name: str | None = None,
    folder: Path | None = None,
    python: str | None = None,
    timeout_s: float = 900.0,
) -> Estimate:
    """Compile a program for a target that need not be attached, and estimate its device time.

    The file is run (in a child, unsandboxed): only for code that is trusted. For a candidate the judge compiles what it
    decoded and calls the child's `estimate` itself; `from_answer` reads both.

    Args:
        program: A Python file with `workload` and `create_inputs`.
        target: A name of ragctx.targets.
        name: Take this one of the file's PROGRAMS.
        folder: Where to keep the schedules; they are thrown away by default.
        python: Interpreter with the JAX to compile with; this one by default.
        timeout_s: Wall-clock limit.

    Raises:
        RagctxError: If there is no such target or file.
    """
    about = targets.get(target)
    if not program.is_file():
        raise RagctxError("no such program file", where=str(program), remedy="check the path")
    request = {
        "file": str(program.absolute()),
        "program": name,
        "topology": about.topology,
        "machine": machine_for(target),
        "folder": None if folder is None else str(folder.absolute()),
    }
    result = run_script("latency_estimate.py", request, python=python, timeout_s=timeout_s)
    return from_answer(result.answer, target=target, ended=_ended(result.timed_out, result.status, timeout_s))


def _ended(timed_out: bool, status: int, timeout_s: float) -> str:
    if timed_out:
        return f"not done within {timeout_s:g} s"
    return f"the process ended with status {status}" if status else ""


def from_answer(answer: Any, *, target: str, ended: str = "") -> Estimate:
    """Return the estimate in the answer of `_child/latency_estimate.py`.

    Args:
        answer: Its JSON value, or None if it left none.
        target: The target it compiled for.
        ended: How the process ended if not by itself; explains numbers that were not reached.
    """
    answer = answer if isinstance(answer, dict) else {}
    error = str(answer.get("error") or "")
    unreached = error or ended or "no answer"
    found = {method: _latency(method, answer.get(method), unreached) for method in ("schedule", "cost_analysis")}
    latency = found["schedule"]
    if latency.ms is None and found["cost_analysis"].ms is not None and not _by_data(latency):
        latency = found["cost_analysis"]
    memory = answer.get("memory")
    return Estimate(
        latency=latency,
        schedule=found["schedule"],
        cost_analysis=found["cost_analysis"],
        memory=memory,
        note="" if memory is None else memory_note(memory["need_bytes"], target),
        pallas=answer.get("pallas"),
        versions=answer.get("versions", {}),
        error=error,
    )


def _by_data(schedule: Latency) -> bool:
    """Return whether the schedule gave no number because the time depends on data.

    The compiler's figure is no better informed then: for the two baselines with gathers or scatters it is 0.35 and
    0.44 of what was published (evaluation/results/latency.md).
    """
    return "depends on data" in str(schedule.detail.get("reason", ""))


def _latency(method: str, value: Any, unreached: str) -> Latency:
    if not isinstance(value, dict):
        return Latency(None, method, detail={"reason": unreached})
    detail = dict(value["detail"])
    if value["ms"] is None and detail.get("reason") == "not reached":
        detail["reason"] = unreached
    return Latency(value["ms"], method, detail=detail)


def memory_note(need_bytes: int, target: str) -> str:
    """Return a line on HBM if a program needs more than the target gives one, or more than 80 % of it, else ""."""
    has = targets.get(target).device_hbm_bytes
    needs = f"needs {need_bytes / GIB:.2f} GiB of HBM, {target} gives a program {has / GIB:.2f} GiB"
    if need_bytes > has:
        return f"{needs}: it cannot run"
    return f"{needs}: little room for anything else" if need_bytes > 0.8 * has else ""


def measure(
    program: Path,
    *,
    name: str | None = None,
    warmups: int = WARMUPS,
    runs: int = RUNS,
    python: str | None = None,
    timeout_s: float = 900.0,
) -> Latency:
    """Run a program on this machine's TPU and return its device time from the profiler: median and spread.

    The file is run unsandboxed: only for code that is trusted. Without a TPU, `ms` is None. Never wall clock.
    Not run on a TPU yet (see `_child/latency_measure.py`).

    Raises:
        RagctxError: If there is no such file.
    """
    if not program.is_file():
        raise RagctxError("no such program file", where=str(program), remedy="check the path")
    request = {
        "file": str(program.absolute()),
        "program": name,
        "warmups": warmups,
        "runs": runs,
        "unset": sorted(TPU_LESS_ENVIRONMENT),
    }
    result = run_script("latency_measure.py", request, python=python, timeout_s=timeout_s)
    answer = result.answer or {}
    detail = dict(answer.get("detail") or {})
    if answer.get("ms") is None and "reason" not in detail:
        ended = _ended(result.timed_out, result.status, timeout_s)
        detail["reason"] = str(answer.get("error") or ended or "no answer")
    return Latency(answer.get("ms"), "profiler", answer.get("spread_ms"), detail)
