"""Measures a program's device time on an attached TPU, from the profiler.

Run as `python -I latency_measure.py REQUEST.json ANSWER.json`. Request: `{"file", "program" or null, "warmups", "runs",
"unset"}`; `unset` names environment variables to drop before JAX is imported (those that hide a TPU). Answer: `{"ms",
"spread_ms", "detail", "versions", "error"}`: median and interquartile range of the runs, or null and a reason.

The profiler writes an XSpace (`*.xplane.pb`); a TPU is a plane `/device:TPU:<n>` whose line `XLA Modules` holds one
event for each run of a compiled program. The time is that event's duration: what the device did, no host time in it.

Not run on a TPU yet: there was none. What is tested is the harness on a CPU (whose trace has no such plane, so the
answer is null) and the reading of an XSpace of this form written by hand.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

_PLANE = "/device:TPU:"
_LINE = "XLA Modules"


def device_times_ns(profile: Any, module: str) -> list[float]:
    """Return the durations of a module's runs on the first TPU of a profile, in order of start.

    Args:
        profile: A jax.profiler.ProfileData.
        module: Name of the compiled program (`jit_workload`); event names are it, or it and a number in parentheses.
    """
    planes = sorted((plane for plane in profile.planes if plane.name.startswith(_PLANE)), key=lambda plane: plane.name)
    if not planes:
        return []
    events = [event for line in planes[0].lines if line.name == _LINE for event in line.events]
    runs = [event for event in events if event.name.partition("(")[0] == module]
    return [event.duration_ns for event in sorted(runs, key=lambda event: event.start_ns)]


def summary(times_ns: list[float], runs: int) -> dict[str, Any]:
    """Return the answer for the times of `runs` runs: median and interquartile range in ms, or null and why."""
    if not times_ns:
        return {"ms": None, "spread_ms": None, "detail": {"reason": "the trace has no run of the program on a TPU"}}
    if len(times_ns) != runs:
        reason = f"the trace has {len(times_ns)} runs of the program on a TPU, {runs} were made"
        return {"ms": None, "spread_ms": None, "detail": {"reason": reason}}
    first, _, third = statistics.quantiles(times_ns, n=4, method="inclusive") if runs > 1 else times_ns * 3
    ms = [time / 1e6 for time in times_ns]
    detail = {"runs": runs, "fastest_ms": min(ms), "slowest_ms": max(ms)}
    return {"ms": statistics.median(ms), "spread_ms": (third - first) / 1e6, "detail": detail}


def read_folder(folder: Path) -> Any:
    """Return the profile that `jax.profiler.trace(folder)` left, or None."""
    from jax.profiler import ProfileData

    found = sorted(folder.rglob("*.xplane.pb"))
    return ProfileData.from_file(os.fspath(found[-1])) if found else None


def measure(file: str, program: str | None, warmups: int, runs: int) -> dict[str, Any]:
    """Compile and run a program, and return its summary."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import jax
    from latency_estimate import load  # type: ignore[import-not-found]

    workload, create_inputs = load(file, program)

    def ragctx_timed(*inputs: Any) -> Any:
        return workload(*inputs)

    made = create_inputs()
    inputs = tuple(made) if isinstance(made, tuple | list) else (made,)
    compiled = jax.jit(ragctx_timed).lower(*inputs).compile()
    for _ in range(warmups):
        jax.block_until_ready(compiled(*inputs))  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory(prefix="ragctx-trace-") as folder:
        with jax.profiler.trace(folder):
            for _ in range(runs):
                jax.block_until_ready(compiled(*inputs))  # type: ignore[no-untyped-call]
        profile = read_folder(Path(folder))
    times = device_times_ns(profile, "jit_ragctx_timed") if profile is not None else []
    found = summary(times, runs)
    found["detail"]["device"] = jax.devices()[0].device_kind
    return found


def main(request_path: str, answer_path: str) -> None:
    """Answer one request."""
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    for name in request.get("unset", ()):
        os.environ.pop(name, None)
    answer: dict[str, Any] = {"ms": None, "spread_ms": None, "detail": {}, "versions": {}, "error": None}
    try:
        answer["versions"] = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib")}
        answer |= measure(request["file"], request.get("program"), request["warmups"], request["runs"])
    except Exception as error:  # the error is the answer
        answer["error"] = f"{type(error).__name__}: {error}"[:2000]
    Path(answer_path).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
