"""Check one file that holds a `workload` and the `reference` it must equal: compile it for TPUs, run it interpreted.

Run as `python -I check_example.py REQUEST.json ANSWER.json`; imports only the standard library, jax and numpy.

Request: `{"file": path, "targets": {"v6e": "v6e:2x2"}, "seeds": [0, 1, 2], "race_seed": 0}` where `targets` maps a
target to a topology name libtpu accepts (empty: compile nothing), `seeds` may be empty (run nothing), and `race_seed`
may be null.

Answer: `{"versions", "compile": {target: outcome}, "numerics": [outcome], "races": outcome or null, "error"}`. Every
outcome has `passed` and `message`. The answer is on disk after each step, so a crash or a time limit loses only the
step it hit: that step stands there with `passed` null.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
from jax.experimental import topologies
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractDevice, AbstractMesh, SingleDeviceSharding, use_abstract_mesh

# Absolute and relative tolerance by the coarsest floating dtype of an output leaf; integers are exact.
DEFAULT_TOLERANCE = {"bfloat16": 1e-2, "float16": 1e-2, "float32": 1e-4}

# Device kind and cores that a kernel sees in interpret mode.
INTERPRETED_DEVICE = ("TPU v6 lite", 1)

_MESSAGE_LIMIT = 4000


def load_module(file: str | Path, name: str = "example") -> ModuleType:
    """Import a Python file by path."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"not a Python file: {file}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and typing look a class's module up there
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def sizes(module: ModuleType, overrides: Mapping[str, Any]) -> Iterator[None]:
    """Lay `overrides` over the module's CONFIG, in place as its functions read it, and take them off again."""
    before = dict(module.CONFIG)
    module.CONFIG.update(overrides)
    try:
        yield
    finally:
        module.CONFIG.clear()
        module.CONFIG.update(before)


def make_inputs(module: ModuleType, seed: int | None = None) -> tuple[Any, ...]:
    """Call `create_inputs`, with the seed if it takes one; one array counts as a tuple of one."""
    takes_seed = "seed" in inspect.signature(module.create_inputs).parameters
    inputs = module.create_inputs(seed=seed) if takes_seed and seed is not None else module.create_inputs()
    return tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)


def abstract_inputs(module: ModuleType, sharding: Any = None) -> tuple[Any, ...]:
    """Return the shapes and dtypes of the inputs without allocating them, placed on `sharding` if given."""
    struct: Any = jax.ShapeDtypeStruct
    shapes = jax.eval_shape(lambda: make_inputs(module))
    return tuple(jax.tree.map(lambda x: struct(x.shape, x.dtype, sharding=sharding), shapes))


def tpu_in_context(device_kind: str, cores: int) -> contextlib.AbstractContextManager[Any]:
    """Put an abstract TPU in context; without one valid kernels fail with `Unsupported TPU device kind: cpu`."""
    device = AbstractDevice(device_kind, cores, "tpu")
    return use_abstract_mesh(AbstractMesh((1,), ("_x",), abstract_device=device))


def compile_for_target(function: Callable[..., Any], module: ModuleType, topology: str) -> Any:
    """Compile `function` at CONFIG sizes for one chip of a topology that is not attached; returns jax's Compiled."""
    device: Any = topologies.get_topology_desc(topology_name=topology, platform="tpu").devices[0]
    with tpu_in_context(device.device_kind, device.num_cores):
        inputs = abstract_inputs(module, SingleDeviceSharding(device))
        return jax.jit(function).trace(*inputs).lower(lowering_platforms=("tpu",)).compile()


def compiled_figures(compiled: Any) -> dict[str, Any]:
    """Return what the compiler says of a program's memory and cost, leaving out what it does not say."""
    memory = compiled.memory_analysis()
    figures: dict[str, Any] = {
        "argument_bytes": memory.argument_size_in_bytes,
        "output_bytes": memory.output_size_in_bytes,
        "temporary_bytes": memory.temp_size_in_bytes,
        "alias_bytes": memory.alias_size_in_bytes,
    }
    # Last: some libtpu versions abort the process here.
    cost = compiled.cost_analysis() or {}
    for key in ("flops", "bytes accessed", "optimal_seconds"):
        if key in cost:
            figures[key.replace(" ", "_")] = cost[key]
    return figures


def tolerance_of(module: ModuleType, leaf: int, dtypes: list[str]) -> tuple[float, float]:
    """Return (atol, rtol) for output leaf number `leaf`: the module's TOLERANCE, else the default for its dtypes."""
    stated = getattr(module, "TOLERANCE", None)
    if stated is not None:
        atol, rtol = stated[leaf] if isinstance(stated[0], tuple | list) else stated
        return float(atol), float(rtol)
    loosest = max((DEFAULT_TOLERANCE.get(dtype, 0.0) for dtype in dtypes), default=0.0)
    return loosest, loosest


def compare(got: Any, want: Any, module: ModuleType) -> dict[str, Any]:
    """Compare outputs leaf by leaf: same structure, shape and dtype, NaN and infinity in the same places, close values.

    Returns:
        `passed`, `message` (the first difference) and `max_abs_error` over all leaves (null if none was compared).
    """
    got_leaves, want_leaves = jax.tree.leaves(got), jax.tree.leaves(want)
    got_tree, want_tree = str(jax.tree.structure(got)), str(jax.tree.structure(want))
    if got_tree != want_tree:
        return _outcome(False, f"output structure {got_tree}, expected {want_tree}", max_abs_error=None)
    worst: float | None = None
    for number, (g, w) in enumerate(zip(got_leaves, want_leaves, strict=True)):
        if (g.shape, g.dtype) != (w.shape, w.dtype):
            message = f"output {number} is {g.dtype}{list(g.shape)}, expected {w.dtype}{list(w.shape)}"
            return _outcome(False, message, max_abs_error=worst)
        atol, rtol = tolerance_of(module, number, [str(w.dtype)])
        actual, expected = np.asarray(g, dtype=np.float64), np.asarray(w, dtype=np.float64)
        wrong = ~np.isclose(actual, expected, atol=atol, rtol=rtol, equal_nan=True)
        finite = np.isfinite(actual) & np.isfinite(expected)
        error = float(np.max(np.abs(actual[finite] - expected[finite]), initial=0.0))
        worst = error if worst is None else max(worst, error)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            message = (
                f"output {number}: {int(wrong.sum())} of {wrong.size} values differ (atol {atol}, rtol {rtol});"
                f" first at {at}: {actual[at]} instead of {expected[at]}"
            )
            return _outcome(False, message, max_abs_error=worst)
    return _outcome(True, "", max_abs_error=worst)


def run_interpreted(
    function: Callable[..., Any], inputs: list[tuple[Any, ...]], params: pltpu.InterpretParams
) -> Iterator[Any]:
    """Yield `function`'s outputs for each set of inputs in TPU interpret mode, compiling once.

    After an exception in this mode later calls in the process fail too: give up on the process.
    """
    untyped: Any = jax
    untyped.clear_caches()  # a program traced without interpret mode must not be reused, nor this one after it
    # emit_pipeline asks for the device's tiling while it is traced.
    with tpu_in_context(*INTERPRETED_DEVICE), pltpu.force_tpu_interpret_mode(params):
        run = jax.jit(lambda *args: function(*args))
        for args in inputs:
            yield untyped.block_until_ready(run(*args))
    untyped.clear_caches()


def races_found() -> bool | None:
    """Return whether the last interpreted run with detect_races saw a race, or None if this JAX does not say."""
    try:
        from jax._src.pallas.mosaic.interpret import interpret_pallas_call
    except ImportError:
        return None
    found = getattr(getattr(interpret_pallas_call, "races", None), "races_found", None)
    return None if found is None else bool(found)


def check_numerics(module: ModuleType, seeds: list[int]) -> Iterator[dict[str, Any]]:
    """Yield a comparison with `reference` for each seed, with memory poisoned and the parallel order shuffled."""
    inputs = [make_inputs(module, seed) for seed in seeds]
    expected = [jax.device_get(jax.jit(module.reference)(*args)) for args in inputs]
    params = pltpu.InterpretParams(uninitialized_memory="nan", out_of_bounds_reads="raise", random_seed=0)
    for seed, got, want in zip(seeds, run_interpreted(module.workload, inputs, params), expected, strict=True):
        yield {"seed": seed, **compare(jax.device_get(got), want, module)}


def check_races(module: ModuleType, seed: int) -> dict[str, Any]:
    """Run one seed with race detection, two cores and eager DMA, which finds what waiting DMA hides."""
    inputs = make_inputs(module, seed)
    want = jax.device_get(jax.jit(module.reference)(*inputs))
    params = pltpu.InterpretParams(detect_races=True, num_cores_or_threads=2, dma_execution_mode="eager")
    (got,) = run_interpreted(module.workload, [inputs], params)
    outcome = compare(jax.device_get(got), want, module)
    found = races_found()
    if found is None:
        return _outcome(None, "this JAX does not say whether it found a race", max_abs_error=outcome["max_abs_error"])
    return _outcome(False, "race detected", max_abs_error=outcome["max_abs_error"]) if found else outcome


def _outcome(passed: bool | None, message: str, **more: Any) -> dict[str, Any]:
    return {"passed": passed, "message": message, **more}


def _failure(error: BaseException) -> dict[str, Any]:
    return _outcome(False, f"{type(error).__name__}: {error}"[:_MESSAGE_LIMIT])


def _versions() -> dict[str, str]:
    found = {}
    for name in ("jax", "jaxlib", "libtpu"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


class Answer:
    """The answer as it grows; `save` puts it on disk whole."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self.value: dict[str, Any] = {
            "versions": _versions(),
            "compile": {},
            "numerics": [],
            "races": None,
            "error": None,
        }

    def save(self) -> None:
        """Write the answer beside its place and rename it in."""
        beside = self._path.with_suffix(".part")
        beside.write_text(json.dumps(self.value), encoding="utf-8")
        os.replace(beside, self._path)


def check(request: Mapping[str, Any], answer: Answer) -> None:
    """Do all that the request asks, saving the answer before and after each step."""
    module = load_module(request["file"])
    for target, topology in request["targets"].items():
        answer.value["compile"][target] = _outcome(None, "started")
        answer.save()
        try:
            compiled = compile_for_target(module.workload, module, topology)
            answer.value["compile"][target] = _outcome(True, "")
            answer.save()
            answer.value["compile"][target] |= compiled_figures(compiled)
        except Exception as error:
            answer.value["compile"][target] = _failure(error)
        answer.save()
    with sizes(module, getattr(module, "CHECK", {})):
        if request["seeds"]:
            for outcome in check_numerics(module, request["seeds"]):
                answer.value["numerics"].append(outcome)
                answer.save()
        if request["race_seed"] is not None:
            answer.value["races"] = _outcome(None, "started")
            answer.save()
            answer.value["races"] = check_races(module, request["race_seed"])


def main(request_path: str, answer_path: str) -> None:
    """Read the request, check, and leave the answer; what goes wrong stands in its `error`."""
    sys.dont_write_bytecode = True  # no __pycache__ beside the file, which may be a corpus
    answer = Answer(answer_path)
    try:
        check(json.loads(Path(request_path).read_text(encoding="utf-8")), answer)
    except Exception as error:
        answer.value["error"] = _failure(error)["message"]
    answer.save()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
