"""---
title: Reduction over a grid axis (column sums)
tags: [reduction, sum, mean, accumulate, bias gradient, column]
primitives: [reduce_sum]
requires: {jax: ">=0.7"}
related: [api/pl.when, api/pl.program_id, api/pltpu.VMEM, api/pltpu.CompilerParams, example/ragged_logsumexp]
source: written for ragctx
verified: {jax: "0.10.2", libtpu: "0.0.42.1"}
---
Sum of (rows, n) over rows: the reduced axis is the last grid axis, and all its steps see the same output block. Copy:
start the accumulator at step 0, add, finish at the last step.
The steps of one output block must follow each other (reduced axis last, "arbitrary"): an output block that is left and
visited again later loses its sums. Within a step only whole (8, 128) registers are added; the costly reduction across
the 8 sublanes is done once, at the end. Rows must divide by the block here, else mask: see example/ragged_logsumexp.
"""

import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

CONFIG = {"rows": 32768, "n": 8192}
CHECK = {"rows": 4096, "n": 4096}


def kernel(x_ref, o_ref, acc_ref):
    step = pl.program_id(1)

    @pl.when(step == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    x = x_ref[...].astype(jnp.float32)
    acc_ref[...] += x.reshape(-1, 8, x.shape[1]).sum(axis=0)  # groups of 8 sublanes: plain vector adds

    @pl.when(step == pl.num_programs(1) - 1)
    def _():
        o_ref[...] = acc_ref[...].sum(axis=0, keepdims=True)


def workload(x):
    rows, n = x.shape
    # 512 x 2048 bf16 = 2 MiB, double buffered 4 MiB: each row of the block is a 4 KiB stretch a tile row, long enough
    # for full DMA speed, and there are n / 2048 independent columns of blocks to share between two cores.
    br, bn = math.gcd(rows, 512), math.gcd(n, 2048)
    out = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((1, n), jnp.float32),  # 2-D: (1, bn) is allowed as it spans the axis of size 1
        grid=(n // bn, rows // br),
        in_specs=[pl.BlockSpec((br, bn), lambda j, i: (i, j))],
        out_specs=pl.BlockSpec((1, bn), lambda j, i: (0, j)),
        scratch_shapes=[pltpu.VMEM((8, bn), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(x)
    return out[0]


def reference(x):
    return jnp.sum(x.astype(jnp.float32), axis=0)


def create_inputs(dtype=jnp.bfloat16, seed=0):
    return (jax.random.normal(jax.random.key(seed), (CONFIG["rows"], CONFIG["n"])).astype(dtype),)


TOLERANCE = (1e-3, 1e-4)  # the sums are of the order of sqrt(rows), and their order of addition differs
