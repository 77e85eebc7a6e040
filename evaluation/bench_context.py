"""What a prefix costs: the whole process without and with tracing, the prefix alone, and building the index.

    python -m evaluation.bench_context [--repeats N] [--out DIR]

Whole processes are run in turn with a bare interpreter and with one that only imports JAX, so that every figure has
its yardstick from the same minutes of the same machine. Memory is the peak of the process's own resident memory
(VmHWM). Writes context.json and context.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from ragctx import __version__, data
from ragctx.context import ContextBuilder
from ragctx.index import open_index
from ragctx.workload import facts_for

WORKLOAD = "1p_Flash_Attention.py"
COMMAND = "python -m evaluation.bench_context"

# The peak that getrusage tells of a child is inherited from its parent on Linux, so the process reads its own.
_RUN = """
import re, sys
from pathlib import Path
{body}
peak = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
print(int(peak) / 1024, file=sys.stderr)
"""
_CLI = "from ragctx.cli.main import run; run({arguments!r})"


def timed(body: str, environment: dict[str, str]) -> tuple[float, float]:
    """Run a body in a fresh interpreter; return wall seconds and peak MB."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _RUN.format(body=body)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=True,
        text=True,
    )
    return time.perf_counter() - start, float(done.stderr.strip().splitlines()[-1])


def in_process(index: Path, repeats: int) -> list[float]:
    """Return milliseconds of each prefix, index open and facts given."""
    builder = ContextBuilder(open_index(index))
    facts = [facts_for(path, target="v6e", trace=False) for path in sorted(data.workloads().glob("*.py"))]
    times = []
    for _ in range(repeats):
        for each in facts:
            start = time.perf_counter()
            builder.prefix(each)
            times.append((time.perf_counter() - start) * 1e3)
    return times[len(facts) :]


def measure(repeats: int) -> dict[str, Any]:
    """Run everything in turn and return the figures."""
    workload = str(data.workloads() / WORKLOAD)
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder, "index")
        environment = {**os.environ, "RAGCTX_CACHE": str(Path(folder, "cache"))}
        cli: Callable[..., str] = lambda *arguments: _CLI.format(arguments=list(arguments))  # noqa: E731
        bodies = {
            "python": "pass",
            "import_jax": "import jax, jax.numpy",
            "build_index": cli("build-index", "--out", str(index)),
            "no_trace": cli("context", workload, "--index", str(index), "--no-trace"),
            "trace": cli("context", workload, "--index", str(index)),
        }
        timed(bodies["build_index"], environment)
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in bodies}
        for _ in range(repeats):
            for name, body in bodies.items():
                runs[name].append(timed(body, environment))
        prefix = in_process(index, 20)
    seconds = {name: statistics.median(s for s, _ in found) for name, found in runs.items()}
    peaks = {name: max(mb for _, mb in found) for name, found in runs.items()}
    return {
        "command": COMMAND,
        "repeats": repeats,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "peak_mb": {name: round(value, 1) for name, value in peaks.items()},
        "prefix_ms": {"median": round(statistics.median(prefix), 2), "maximum": round(max(prefix), 2)},
        "trace_over_import_jax_s": round(seconds["trace"] - seconds["import_jax"], 3),
        "machine": {"cpus": os.cpu_count(), "load": [round(x, 2) for x in os.getloadavg()]},
        "versions": {
            "python": platform.python_version(),
            "ragctx": __version__,
            "jax": metadata.version("jax"),
            "numpy": metadata.version("numpy"),
        },
    }


def report(result: dict[str, Any]) -> str:
    """Return the figures as Markdown beside their goals."""
    seconds, peaks = result["seconds"], result["peak_mb"]
    rows = [
        ("`ragctx context W --no-trace`, whole process", f"{seconds['no_trace']:.2f} s", "0.5 s"),
        ("the same, peak memory", f"{peaks['no_trace']:.0f} MB", "150 MB"),
        ("with tracing, over a bare `import jax`", f"{result['trace_over_import_jax_s']:.2f} s", "1.0 s"),
        ("a prefix in process, median", f"{result['prefix_ms']['median']:.2f} ms", "5 ms"),
        ("`ragctx build-index` with the API reference", f"{seconds['build_index']:.1f} s", "10 s"),
        ("yardstick: a bare interpreter", f"{seconds['python']:.2f} s", ""),
        ("yardstick: `import jax`", f"{seconds['import_jax']:.2f} s", ""),
    ]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    lines = [
        "# What a prefix costs",
        "",
        f"Made by `{result['command']}`, medians of {result['repeats']} runs in turn;",
        f"{result['machine']['cpus']} CPUs, load {result['machine']['load'][0]} (one minute); {versions}.",
        "",
        "| what | measured | goal |",
        "| --- | --- | --- |",
        *(f"| {what} | {value} | {goal} |" for what, value, goal in rows),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description="What a prefix costs.")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "results")
    options = parser.parse_args()
    result = measure(options.repeats)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "context.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    text = report(result)
    (options.out / "context.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
