"""Mistakes that compile without a word, each beside its right version; a child process runs one and says what came out.

Run by path: `python -I silent_mistakes.py REQUEST.json ANSWER.json` with `{"case", "version": "wrong" | "right"}`.
The answer is `{"compiles", "outcome"}`: whether the TPU compiler takes it for v6e, and what TPU interpret mode makes of
it: `equal`, `different` or `nan` against the expected values, or the name of the exception it raised.
"""

import json
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental import topologies
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractDevice, AbstractMesh, SingleDeviceSharding

ROWS, COLUMNS, BLOCK = 512, 128, 128
ROW_BLOCK = pl.BlockSpec((BLOCK, COLUMNS), lambda i: (i, 0))
ONE_ROW = jax.ShapeDtypeStruct((1, COLUMNS), jnp.float32)


def double_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def double(x, *, grid=(ROWS // BLOCK,), spec=ROW_BLOCK, kernel=double_kernel):
    return pl.pallas_call(kernel, grid=grid, in_specs=[spec], out_specs=ROW_BLOCK, out_shape=x)(x)


def grid_too_short(x, right):
    return double(x, grid=(4,) if right else (3,)), x * 2.0


def index_in_elements(x, right):
    return double(x, spec=ROW_BLOCK if right else pl.BlockSpec((BLOCK, COLUMNS), lambda i: (i * BLOCK, 0))), x * 2.0


def rebound_output(x, right):
    def rebinding(x_ref, o_ref):
        o_ref = x_ref[...] * 2.0  # noqa: F841

    return double(x, kernel=double_kernel if right else rebinding), x * 2.0


def dynamic_out_of_bounds(x, right):
    def kernel(x_ref, o_ref):
        start = pl.program_id(0) * BLOCK + (0 if right else BLOCK)
        o_ref[...] = x_ref[pl.ds(start, BLOCK), :] * 2.0

    whole = pl.BlockSpec((ROWS, COLUMNS), lambda i: (0, 0))
    expected = x * 2.0 if right else jnp.roll(x, -BLOCK, axis=0) * 2.0
    return double(x, spec=whole, kernel=kernel), expected


def uninitialised_accumulator(x, right):
    def kernel(x_ref, o_ref):
        if right:

            @pl.when(pl.program_id(0) == 0)
            def _():
                o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += jnp.sum(x_ref[...], axis=0, keepdims=True)

    out_spec = pl.BlockSpec((1, COLUMNS), lambda i: (0, 0))
    total = pl.pallas_call(kernel, grid=(4,), in_specs=[ROW_BLOCK], out_specs=out_spec, out_shape=ONE_ROW)(x)
    return total, jnp.sum(x, axis=0, keepdims=True)


def revisited_output(x, right):
    """Sum blocks of rows per half of the columns; the wrong grid leaves an output block and comes back to it."""

    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(1 if right else 0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += jnp.sum(x_ref[...], axis=0, keepdims=True)

    wide = jnp.concatenate([x, x + 1.0], axis=1)
    grid = (2, 4) if right else (4, 2)
    total = pl.pallas_call(
        kernel,
        grid=grid,
        in_specs=[pl.BlockSpec((BLOCK, COLUMNS), (lambda j, k: (k, j)) if right else (lambda k, j: (k, j)))],
        out_specs=pl.BlockSpec((1, COLUMNS), (lambda j, k: (0, j)) if right else (lambda k, j: (0, j))),
        out_shape=jax.ShapeDtypeStruct((1, 2 * COLUMNS), jnp.float32),
    )(wide)
    return total, jnp.sum(wide, axis=0, keepdims=True)


def parallel_reduction(x, right):
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += jnp.sum(x_ref[...], axis=0, keepdims=True)

    total = pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[ROW_BLOCK],
        out_specs=pl.BlockSpec((1, COLUMNS), lambda i: (0, 0)),
        out_shape=ONE_ROW,
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary" if right else "parallel",)),
    )(x)
    return total, jnp.sum(x, axis=0, keepdims=True)


def unmasked_edge(x, right):
    rows = ROWS - 100

    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        block = x_ref[...]
        if right:
            row = pl.program_id(0) * BLOCK + lax.broadcasted_iota(jnp.int32, block.shape, 0)
            block = jnp.where(row < rows, block, 0.0)
        o_ref[...] += jnp.sum(block, axis=0, keepdims=True)

    ragged = x[:rows]
    total = pl.pallas_call(
        kernel,
        grid=(pl.cdiv(rows, BLOCK),),
        in_specs=[ROW_BLOCK],
        out_specs=pl.BlockSpec((1, COLUMNS), lambda i: (0, 0)),
        out_shape=ONE_ROW,
    )(ragged)
    return total, jnp.sum(ragged, axis=0, keepdims=True)


CASES = {
    case.__name__: case
    for case in (
        grid_too_short,
        index_in_elements,
        rebound_output,
        dynamic_out_of_bounds,
        uninitialised_accumulator,
        revisited_output,
        parallel_reduction,
        unmasked_edge,
    )
}


def compiles(case, right):
    device = topologies.get_topology_desc(topology_name="v6e:2x2", platform="tpu").devices[0]
    x = jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32, sharding=SingleDeviceSharding(device))
    kind = AbstractDevice(device.device_kind, device.num_cores, "tpu")
    with jax.sharding.use_abstract_mesh(AbstractMesh((1,), ("_x",), abstract_device=kind)):
        lowered = jax.jit(lambda x: case(x, right)[0]).trace(x).lower(lowering_platforms=("tpu",))
    lowered.compile()
    jax.clear_caches()
    return True


def outcome(case, right):
    x = jnp.asarray(np.random.default_rng(7).normal(size=(ROWS, COLUMNS)).astype(np.float32))
    params = pltpu.InterpretParams(uninitialized_memory="nan", num_cores_or_threads=2)
    try:
        with pltpu.force_tpu_interpret_mode(params):
            result, expected = case(x, right)
            result, expected = np.asarray(result), np.asarray(expected)
    except Exception as error:  # which one is the answer; it arrives wrapped, with its own traceback as text
        return re.findall(r"^(\w+): ", str(error), re.MULTILINE)[-1]
    if np.isnan(result).any():
        return "nan"
    return "equal" if np.allclose(result, expected, rtol=1e-5, atol=1e-4) else "different"


def main(request_path, answer_path):
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    case, right = CASES[request["case"]], request["version"] == "right"
    answer = {"compiles": compiles(case, right), "outcome": outcome(case, right)}
    with open(answer_path, "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
