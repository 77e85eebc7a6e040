"""Runs a decoded program in TPU interpret mode and compares what it returns, for `verify_judge.py`.

It needs the standard library, numpy and jax.
"""

import contextlib
import dataclasses
import io
import math

import jax
import numpy as np
from jax.experimental.pallas import tpu as pltpu
from program import sub_jaxprs
from verify_workload import tpu_in_context

# Absolute and relative tolerance by the dtype of an output; integers are exact, other floats as the coarsest here.
DEFAULT_TOLERANCE = {"bfloat16": 1e-2, "float16": 1e-2, "float32": 1e-4, "float64": 1e-4}
# A quantised value computed another way may fall on the other side of a rounding, but rarely.
OFF_BY_ONE_SHARE = 1e-3
# Race detection compares each access with all earlier ones.
MOST_STEPS_WITH_RACES = 256


def interpret_params(**options):
    """Return interpret parameters, of the options this JAX has."""
    cls = getattr(pltpu, "InterpretParams", None) or pltpu.TPUInterpretParams
    known = {field.name for field in dataclasses.fields(cls)}
    return cls(**{name: value for name, value in options.items() if name in known})


def with_interpret(closed, params):
    """Return a program whose kernels have this interpret parameter, and the effects that come with it."""
    return closed.replace(jaxpr=_with_interpret(closed.jaxpr, params, _effects(params)))


def _effects(params):
    if not params:
        return set()
    from jax._src.pallas import core as pallas_core

    if hasattr(pallas_core, "get_interpret_effects"):
        return set(pallas_core.get_interpret_effects(params))
    from jax._src.pallas.mosaic import interpret  # JAX below 0.7

    return set(interpret.get_interpret_effects()) if hasattr(interpret, "get_interpret_effects") else set()


def _with_interpret(jaxpr, params, effects):
    eqns, found = [], False
    for eqn in jaxpr.eqns:
        if "interpret" in eqn.params:
            eqn = eqn.replace(params={**eqn.params, "interpret": params}, effects=eqn.effects | effects)
            found = True
        elif any(True for inner in sub_jaxprs(eqn.params) for _ in kernels(inner)):
            changed = {key: _changed(value, params, effects) for key, value in eqn.params.items()}
            eqn = eqn.replace(params=changed, effects=eqn.effects | effects)
            found = True
        eqns.append(eqn)
    return jaxpr.replace(eqns=eqns, effects=jaxpr.effects | effects) if found else jaxpr


def _changed(value, params, effects):
    """Return an operation's parameter with the programs in it changed."""
    if isinstance(value, tuple | list):
        return type(value)(_changed(item, params, effects) for item in value)
    if hasattr(value, "eqns") and hasattr(value, "consts"):
        return value.replace(jaxpr=_with_interpret(value.jaxpr, params, effects))
    return _with_interpret(value, params, effects) if hasattr(value, "eqns") else value


def kernels(jaxpr):
    """Yield the kernel operations of a program, those in loops included."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in ("pallas_call", "core_map"):
            yield eqn
        else:
            for inner in sub_jaxprs(eqn.params):
                yield from kernels(inner)


def grid_steps(jaxpr):
    """Return the largest number of grid steps of a program's kernels; unknown sizes count as one."""
    most = 0
    for eqn in kernels(jaxpr):
        grid = getattr(eqn.params.get("grid_mapping"), "grid", ())
        most = max(most, math.prod(n for n in grid if isinstance(n, int)))
    return most


class Runner:
    """Runs one program under one set of interpret parameters; compiled once for all inputs."""

    def __init__(self, closed, device, wrap, **options):
        interpreted = with_interpret(closed, interpret_params(**options))
        self._device, self._run = device, jax.jit(wrap(jax.extend.core.jaxpr_as_fun(interpreted)))

    def __call__(self, arrays):
        """Return the outputs as NumPy arrays and what the interpreter printed."""
        printed = io.StringIO()
        with contextlib.ExitStack() as stack:
            if self._device is not None:
                stack.enter_context(tpu_in_context(*self._device))
            stack.enter_context(contextlib.redirect_stdout(printed))
            outputs = [fetch(out) for out in jax.block_until_ready(self._run(*arrays))]
        return outputs, printed.getvalue()


def fetch(array):
    """Return an output as a NumPy array; of an output on several devices what each of them holds, in a row."""
    shards = array.addressable_shards
    if len(shards) == 1:
        return np.asarray(array)
    return np.stack([np.asarray(shard.data) for shard in sorted(shards, key=lambda shard: shard.device.id)])


def races_found():
    """Return whether the last run with race detection saw a race, or None if this JAX does not say."""
    for place in (
        "jax._src.pallas.mosaic.interpret.interpret_pallas_call",
        "jax._src.pallas.mosaic.interpret",
    ):
        module = __import__("sys").modules.get(place)
        found = getattr(getattr(module, "races", None), "races_found", None)
        if found is not None:
            return bool(found)
    return None


def first_race(printed):
    """Return one line on the first race that the interpreter printed."""
    lines = [line.strip() for line in printed.splitlines()]
    start = next((i for i, line in enumerate(lines) if line.startswith("RACE DETECTED")), None)
    return "race detected" if start is None else f"race detected: {' '.join(lines[start + 1 : start + 5])}"


def tolerances(module, types):
    """Return (atol, rtol) of each output: the workload's TOLERANCE, else the default for its dtype.

    Raises:
        ValueError: If TOLERANCE is not of the documented form.
    """
    stated = getattr(module, "TOLERANCE", None)
    if stated is None:
        return [(DEFAULT_TOLERANCE.get(dtype, _other_default(dtype)),) * 2 for dtype, _ in types]
    each = stated if isinstance(stated[0], tuple | list) else [stated] * len(types)
    if len(each) != len(types) or any(len(pair) != 2 for pair in each):
        raise ValueError(f"TOLERANCE has {len(each)} entries for {len(types)} outputs")
    return [(float(atol), float(rtol)) for atol, rtol in each]


def _other_default(dtype):
    return 1e-2 if dtype.startswith(("float", "complex")) else 0.0


def wide(array):
    """Return an array in a type that holds its values exactly and has NumPy's arithmetic."""
    if array.dtype.kind in "iub":
        return array.astype(np.int64) if array.dtype.itemsize < 8 else array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def compare(got, want, tolerance, rounded_from_floats):
    """Compare one output; returns (wrong, note, detail), detail being the JSON of a mismatch or None.

    NaN must stand where NaN is expected, infinities with their sign; an 8-bit integer computed from floats may be off
    by one in 0.1 % of the places.
    """
    actual, expected = wide(got), wide(want)
    if actual.dtype.kind in "iub":
        wrong = actual != expected
        close = np.abs(actual.astype(np.float64) - expected.astype(np.float64)) <= 1
        if rounded_from_floats and want.dtype.itemsize == 1 and wrong.any() and close.all():
            if wrong.mean() <= OFF_BY_ONE_SHARE:
                return None, f"{int(wrong.sum())} of {wrong.size} values are off by one, as roundings are", None
    else:
        atol, rtol = tolerance
        with np.errstate(invalid="ignore", over="ignore"):
            wrong = ~np.isclose(actual, expected, atol=atol, rtol=rtol, equal_nan=True)
    return (wrong, None, mismatch(actual, expected, wrong)) if wrong.any() else (None, None, None)


def mismatch(actual, expected, wrong):
    """Return how and where an output is wrong, as JSON."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        error = np.abs(actual - expected).astype(np.float64)
        relative = error / np.abs(expected)
    distance = np.where(np.isfinite(error), error, np.inf)
    worst = np.unravel_index(int(np.argmax(np.where(wrong, distance, -1.0))), actual.shape)
    return {
        "count": int(wrong.sum()),
        "size": int(wrong.size),
        "share": float(wrong.mean()),
        "first": [int(i) for i in np.argwhere(wrong)[0]],
        "worst": [int(i) for i in worst],
        "expected": _number(expected[worst]),
        "got": _number(actual[worst]),
        "max_abs_error": _largest(error[wrong]),
        "max_rel_error": _largest(relative[wrong]),
        "nan": int(np.isnan(actual[wrong]).sum()) if actual.dtype.kind in "fc" else 0,
    }


def _number(value):
    """Return a number as JSON; what JSON has no number for as text."""
    value = value.item()
    return value if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)) else str(value)


def _largest(errors):
    finite = errors[np.isfinite(errors)]
    return float(finite.max()) if finite.size else None
