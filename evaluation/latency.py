"""How far the latency estimate can be trusted: predicted against published v6e times.

    python -m evaluation.latency                                   # with this environment's JAX
    python -m evaluation.latency --python OTHER/bin/python ...     # and with other environments' JAX beside it

Compiles the programs of latency_programs.py for a v6e that is not attached, one process each, and holds both methods
of `ragctx.verify.latency` against the published device times: Spearman rank correlation and median |log2(predicted /
published)|. One parameter, the share of HBM's peak bandwidth that DMAs reach, is fitted on a grid and judged leaving
one program out. Schedules are kept under --cache, so a second run only walks them. Writes latency.md, .json and .svg.

scipy comes with JAX. A first run takes ten to thirty minutes a JAX version on two cores.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import math
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scipy.stats import spearmanr

from evaluation import latency_plot
from ragctx.children import SCRIPTS
from ragctx.files import write_atomic
from ragctx.verify import latency

sys.path.insert(0, str(SCRIPTS))  # the walk itself is run here, on schedules that are already there

from latency_bundles import Unsupported  # noqa: E402
from latency_program import Walkers, schedules, time_program  # noqa: E402
from latency_walk import Machine  # noqa: E402

HERE = Path(__file__).parent
PROGRAMS = HERE / "latency_programs.py"
PUBLISHED = HERE / "latency_published.json"
TARGET = "v6e"
GRID = tuple(round(1 - 0.04 * step, 2) for step in range(8))
LIST_PROGRAMS = (
    "import runpy, sys; sys.path.insert(0, sys.argv[1]); print(*runpy.run_path(sys.argv[2])['PROGRAMS'], sep='\\n')"
)


@dataclass(slots=True)
class Row:
    """One program in one environment.

    Attributes:
        name: `<id>/baseline` or `<id>/optimized`.
        published_ms: What was published.
        schedule_ms: What the walk gives by HBM efficiency; empty where it gives nothing.
        cost_analysis_ms: The compiler's figure, or None.
        mosaic: Whether the program has Pallas kernels of its own.
        reason: Why the walk gives nothing, or "".
        need_bytes: HBM the program needs, or None.
        bundles_ms: Time of the bundles alone.
        hbm_bytes: Bytes of HBM moved.
    """

    name: str
    published_ms: float
    schedule_ms: dict[float, float] = field(default_factory=dict)
    cost_analysis_ms: float | None = None
    mosaic: bool = False
    reason: str = ""
    need_bytes: int | None = None
    bundles_ms: float | None = None
    hbm_bytes: int | None = None


@dataclass(slots=True)
class Environment:
    """The rows of one JAX, and the fit on them."""

    python: str
    versions: Mapping[str, str]
    rows: list[Row] = field(default_factory=list)
    fit: dict[str, Any] = field(default_factory=dict)


def published() -> dict[str, float]:
    """Return the published time of every program that has one, in ms."""
    workloads = json.loads(PUBLISHED.read_text(encoding="utf-8"))["workloads"]
    found = {}
    for name, about in workloads.items():
        for kind in ("baseline", "optimized"):
            if about[f"{kind}_ms"] is not None:
                found[f"{name}/{kind}"] = about[f"{kind}_ms"]
    return found


def versions_of(python: str) -> dict[str, str]:
    """Return the versions of what compiles in an environment."""
    names = "{name: metadata.version(name) for name in ('jax', 'jaxlib', 'libtpu')}"
    code = f"import json; from importlib import metadata; print(json.dumps({names}))"
    answer = subprocess.run([python, "-I", "-c", code], capture_output=True, check=True, text=True).stdout
    return dict(json.loads(answer))


def program_names(python: str) -> list[str]:
    """Return the names of the programs, in order."""
    command = [python, "-c", LIST_PROGRAMS, str(HERE.parent), str(PROGRAMS)]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()


def compiled(name: str, python: str, versions: Mapping[str, str], cache: Path) -> tuple[dict[str, Any], Path]:
    """Return (what the estimate found, the folder of its schedules), from the cache if it is there."""
    key = hashlib.sha256()
    for part in (PROGRAMS.read_bytes(), PUBLISHED.read_bytes(), json.dumps(versions, sort_keys=True).encode()):
        key.update(hashlib.sha256(part).digest())
    folder = cache / key.hexdigest()[:16] / name.replace("/", "-")
    answer = folder / "estimate.json"
    if not answer.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        for leftover in folder.iterdir():
            leftover.unlink()
        found = latency.estimate(PROGRAMS, target=TARGET, name=name, folder=folder, python=python)
        write_atomic(answer, json.dumps(dataclasses.asdict(found), indent=1))
    return dict(json.loads(answer.read_text(encoding="utf-8"))), folder


def walk(folder: Path, row: Row) -> None:
    """Fill in what the walk of a folder's schedules gives on every point of the grid."""
    model = latency.MACHINES[TARGET]
    try:
        text = (folder / "hlo.txt").read_text(encoding="utf-8")
        values = json.loads((folder / "values.json").read_text(encoding="utf-8"))
    except OSError:
        row.reason = row.reason or "did not compile"
        return
    integers = {int(position): numbers for position, numbers in values.items()}
    files, walkers = schedules(folder), Walkers()
    for efficiency in GRID:
        machine = Machine(model.clock_hz, model.hbm_bytes_per_s, hbm_efficiency=efficiency)
        try:
            timing = time_program(text, files, machine, integers, walkers)
        except Unsupported as reason:
            row.reason = str(reason)
            return
        row.schedule_ms[efficiency] = timing.cycles / model.clock_hz * 1e3
        bundles = sum(times * found.bundles for _, times, found in timing.operations)
        row.bundles_ms = bundles / model.clock_hz * 1e3
        row.hbm_bytes = timing.copied_bytes + sum(times * found.hbm_bytes for _, times, found in timing.operations)
    row.reason = ""


def study(python: str, cache: Path, only: Sequence[str]) -> Environment:
    """Compile and walk every program in one environment."""
    environment = Environment(python, versions_of(python))
    times = published()
    for name in program_names(python):
        if only and not any(name.startswith(start) for start in only):
            continue
        found, folder = compiled(name, python, environment.versions, cache)
        row = Row(name, times[name], cost_analysis_ms=found["cost_analysis"]["ms"], mosaic=bool(found["pallas"]))
        row.reason = found["error"] or found["schedule"]["detail"].get("reason", "")
        row.need_bytes = found["memory"] and found["memory"]["need_bytes"]
        walk(folder, row)
        environment.rows.append(row)
        shown = row.schedule_ms.get(1.0)
        print(f"{name}: {shown} ({row.published_ms} published) {row.reason[:80]}", file=sys.stderr, flush=True)
    environment.fit = fit(environment.rows)
    return environment


def error(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the median |log2(predicted / published)|."""
    return statistics.median(abs(math.log2(predicted / measured)) for predicted, measured in pairs)


def score(pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """Return count, Spearman's rank correlation, and the errors of (predicted, published) pairs."""
    if len(pairs) < 3:
        return {"n": len(pairs)}
    logs = [math.log2(predicted / measured) for predicted, measured in pairs]
    within = sum(abs(value) <= math.log2(1.25) for value in logs)
    return {
        "n": len(pairs),
        "spearman": float(spearmanr(*zip(*pairs, strict=True)).statistic),
        "median_abs_log2": error(pairs),
        "median_log2": statistics.median(logs),
        "worst_abs_log2": max(abs(value) for value in logs),
        "within_25_percent": within,
    }


def best(rows: Sequence[Row]) -> float:
    """Return the grid's HBM efficiency with the smallest mean |log2 ratio|; of equals the largest."""

    def loss(efficiency: float) -> float:
        return statistics.fmean(abs(math.log2(row.schedule_ms[efficiency] / row.published_ms)) for row in rows)

    return min(GRID, key=lambda efficiency: (round(loss(efficiency), 6), -efficiency))


def fit(rows: Sequence[Row]) -> dict[str, Any]:
    """Fit the HBM efficiency on all rows, and judge it on each row by a fit without that row's operator."""
    usable = [row for row in rows if row.schedule_ms]
    if len(usable) < 5:
        return {}
    left_out, chosen = [], []
    for row in usable:
        others = [other for other in usable if other.name.split("/")[0] != row.name.split("/")[0]]
        chosen.append(best(others))
        left_out.append((row.schedule_ms[chosen[-1]], row.published_ms))
    return {
        "hbm_efficiency": best(usable),
        "leave_one_out": score(left_out),
        "leave_one_out_efficiencies": sorted(set(chosen)),
    }


def scores(environment: Environment) -> dict[str, dict[str, Any]]:
    """Return the scores of each method on each kind of program."""
    fitted = environment.fit.get("hbm_efficiency", 1.0)
    kinds = {"plain XLA": [], "Pallas": [], "all": environment.rows}  # type: dict[str, list[Row]]
    for row in environment.rows:
        kinds["Pallas" if row.mosaic else "plain XLA"].append(row)
    both = [row for row in environment.rows if row.schedule_ms and row.cost_analysis_ms]
    found = {}
    for kind, rows in kinds.items():
        walked = [row for row in rows if row.schedule_ms]
        found[f"schedule, {kind}"] = score([(row.schedule_ms[1.0], row.published_ms) for row in walked])
        if "hbm_efficiency" in environment.fit:
            found[f"schedule fitted, {kind}"] = score([(row.schedule_ms[fitted], row.published_ms) for row in walked])
    found["cost analysis, plain XLA"] = score(
        [(row.cost_analysis_ms, row.published_ms) for row in environment.rows if row.cost_analysis_ms]
    )
    found["where both give a number: schedule"] = score([(row.schedule_ms[1.0], row.published_ms) for row in both])
    found["where both give a number: cost analysis"] = score(
        [(row.cost_analysis_ms, row.published_ms) for row in both if row.cost_analysis_ms]
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", action="append", default=[], help="interpreter of another environment")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir(), "ragctx-latency"))
    parser.add_argument("--only", nargs="*", default=[], help="programs whose names start so")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    environments = [study(python, options.cache, options.only) for python in (sys.executable, *options.python)]
    options.out.mkdir(parents=True, exist_ok=True)
    write(environments, options.out)


def write(environments: Sequence[Environment], out: Path) -> None:
    """Write latency.json, .md and .svg."""
    value = {
        "target": TARGET,
        "machine": dataclasses.asdict(latency.MACHINES[TARGET]),
        "environments": [
            {
                "versions": dict(environment.versions),
                "fit": environment.fit,
                "scores": scores(environment),
                "programs": [dataclasses.asdict(row) for row in environment.rows],
            }
            for environment in environments
        ],
    }
    write_atomic(out / "latency.json", json.dumps(value, indent=1) + "\n")
    write_atomic(out / "latency.svg", latency_plot.scatter([panel(environment) for environment in environments]))
    write_atomic(out / "latency.md", report(environments))


def panel(environment: Environment) -> latency_plot.Panel:
    """Return the plot of one environment."""
    points = [
        latency_plot.Point(row.name, row.published_ms, row.schedule_ms[1.0], row.mosaic)
        for row in environment.rows
        if row.schedule_ms
    ]
    jax, libtpu = environment.versions["jax"], environment.versions["libtpu"]
    return latency_plot.Panel(f"JAX {jax}, libtpu {libtpu}: schedule walk, not fitted", points)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 10 else f"{value:.1f}"


def report(environments: Sequence[Environment]) -> str:
    """Return latency.md."""
    command = shlex.join(["python", "-m", "evaluation.latency"]) + " [--python OTHER/bin/python]" * (
        len(environments) > 1
    )
    lines = ["# Predicted against published v6e latencies", "", f"Made by `{command}`.", ""]
    lines += (HERE / "latency_notes.md").read_text(encoding="utf-8").splitlines()
    for environment in environments:
        versions = ", ".join(f"{name} {version}" for name, version in environment.versions.items())
        lines += [
            "",
            f"## {versions}",
            "",
            "| method, programs | n | Spearman | median \\|log2\\| | median log2 | worst | within 25 % |",
        ]
        lines.append("| --- | --- | --- | --- | --- | --- | --- |")
        for name, found in scores(environment).items():
            lines.append(_score_line(name, found))
        if environment.fit:
            lines.append(_score_line("schedule fitted, leaving one operator out", environment.fit["leave_one_out"]))
            kept = ", ".join(str(value) for value in environment.fit["leave_one_out_efficiencies"])
            lines += [
                "",
                f"Fitted HBM efficiency (all programs, mean |log2|, grid of 0.04): {environment.fit['hbm_efficiency']};"
                f" leaving one operator out gives {kept}.",
            ]
    lines += ["", "## Programs", "", *_table(environments), "", "![predicted against published](latency.svg)"]
    lines += ["", "## No number from the schedule", ""]
    for environment in environments:
        for row in environment.rows:
            if not row.schedule_ms:
                reason = row.reason.split("(block")[0].split("/*")[0].strip()
                lines.append(f"- JAX {environment.versions['jax']}, {row.name}: {reason[:160]}")
    return "\n".join(lines) + "\n"


def _score_line(name: str, found: Mapping[str, Any]) -> str:
    if found["n"] < 3:
        return f"| {name} | {found['n']} | - | - | - | - | - |"
    numbers = (f"{found[key]:.3f}" for key in ("spearman", "median_abs_log2", "median_log2", "worst_abs_log2"))
    return f"| {name} | {found['n']} | {' | '.join(numbers)} | {found['within_25_percent']} |"


def _table(environments: Sequence[Environment]) -> list[str]:
    heads = ["program", "published ms"]
    for environment in environments:
        jax = environment.versions["jax"]
        heads += [f"schedule, {jax}", "ratio", f"cost analysis, {jax}", "bundles alone", "HBM GB"]
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    by_name = [{row.name: row for row in environment.rows} for environment in environments]
    for name, first in by_name[0].items():
        cells = [name, f"{first.published_ms:g}"]
        for rows in by_name:
            row = rows.get(name)
            raw = row.schedule_ms.get(1.0) if row else None
            cells += [_number(raw), _number(raw and raw / first.published_ms)]
            cells += [_number(row.cost_analysis_ms if row else None), _number(row.bundles_ms if row else None)]
            cells.append(_number(row.hbm_bytes / 1e9 if row and row.hbm_bytes is not None else None))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    main()
