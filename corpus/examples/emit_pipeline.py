"""---
title: Two pipelines in one kernel with emit_pipeline (clip by global norm)
tags: [emit_pipeline, pipeline, two pass, global norm, gradient clipping, nested pipeline]
primitives: [reduce_sum, sqrt, mul]
requires: {jax: ">=0.8"}
related: [api/pltpu.emit_pipeline, api/pl.ANY, api/pltpu.VMEM, example/manual_dma, example/grid_reduction]
source: written for ragctx
verified: {jax: "0.10.2", libtpu: "0.0.42.1"}
---
`x * min(1, limit / norm(x))`: the second pass over x needs the result of the first. Copy: the kernel has no grid and
takes x and the output as `pl.ANY` refs in HBM; `pltpu.emit_pipeline` runs an inner grid over them with the usual block
specs, double buffered, and can be used several times in a row. Values between the passes are ordinary kernel values.
The inner kernel gets VMEM blocks; state goes into scratch of the outer kernel, reached by closure. Choose it over a grid
when one kernel has several phases, dynamic bounds, or communication between pipelines; else a grid is simpler.
Each pipeline starts cold and drains: give each many steps. Without `core_axis` one core runs it.
"""

import functools
import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

CONFIG = {"rows": 16384, "n": 8192}
CHECK = {"rows": 4096, "n": 1024}
LIMIT = 100.0


def kernel(x_hbm, o_hbm, squares_ref, *, block, limit):
    rows, n = x_hbm.shape
    spec = pl.BlockSpec((block, n), lambda i: (i, 0))
    squares_ref[...] = jnp.zeros_like(squares_ref)

    def add_squares(x_ref):
        x = x_ref[...].astype(jnp.float32)
        squares_ref[...] += (x * x).reshape(-1, 8, n).sum(axis=0)

    pltpu.emit_pipeline(add_squares, grid=(rows // block,), in_specs=[spec])(x_hbm)

    # keepdims: a (1, 1) array stays in vector registers, where sqrt and division are.
    norm = jnp.sqrt(jnp.sum(squares_ref[...], keepdims=True))
    scale = jnp.minimum(1.0, limit / norm)

    def apply(x_ref, o_ref):
        o_ref[...] = (x_ref[...].astype(jnp.float32) * scale).astype(o_ref.dtype)

    pltpu.emit_pipeline(apply, grid=(rows // block,), in_specs=[spec], out_specs=[spec])(x_hbm, o_hbm)


def workload(x):
    rows, n = x.shape
    # 1 MiB blocks: two buffers for x, two for the output, and the pipelines do not run at the same time.
    block = math.gcd(rows, pl.next_power_of_2((1 << 20) // (n * x.dtype.itemsize)))
    return pl.pallas_call(
        functools.partial(kernel, block=block, limit=LIMIT),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        scratch_shapes=[pltpu.VMEM((8, n), jnp.float32)],
    )(x)


def reference(x):
    x32 = x.astype(jnp.float32)
    return (x32 * jnp.minimum(1.0, LIMIT / jnp.sqrt(jnp.sum(x32 * x32)))).astype(x.dtype)


def create_inputs(dtype=jnp.bfloat16, seed=0):
    return (jax.random.normal(jax.random.key(seed), (CONFIG["rows"], CONFIG["n"])).astype(dtype),)


TOLERANCE = (1e-4, 1e-2)  # clipped values are small
