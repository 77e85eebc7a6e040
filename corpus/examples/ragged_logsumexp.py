"""---
title: Ragged edges and masking (log-sum-exp over an odd vocabulary)
tags: [ragged, masking, padding, edge block, logsumexp, cross entropy, online softmax, vocabulary]
primitives: [exp, log, reduce_max, reduce_sum, iota, select_n]
requires: {jax: ">=0.7"}
related: [api/pl.cdiv, api/pl.when, api/pl.program_id, api/pltpu.CompilerParams, example/softmax, example/grid_reduction]
source: written for ragctx
verified: {jax: "0.10.2", libtpu: "0.0.42.1"}
---
log(sum(exp(x))) along an axis of 50,304, which the block does not divide. `pl.cdiv` rounds the grid up; the last block hangs over
the edge, and what it reads there is undefined: old VMEM contents, NaN included. Copy: mask by global position with an
iota, in the axis that is *reduced*, with the operation's identity (very negative for max and exp, 0 for a sum, both
operands 0 for a dot), by `jnp.where`, never by multiplying (0 * NaN is NaN).
The other axis needs no mask: padded rows only spoil themselves, and writes outside the array are dropped.
jnp.pad would cost a full copy through HBM. So does a last axis that is not a multiple of 128, if another axis is: XLA
keeps (8192, 50257) transposed, and copies it for the kernel (a `copy` in compiled.as_text()): pad such a vocabulary.
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

CONFIG = {"rows": 8192, "n": 50304}
CHECK = {"rows": 600, "n": 5000}
MASKED = -1e30  # finite: exp(-inf - -inf) is NaN


def kernel(x_ref, o_ref, m_ref, l_ref, *, n):
    j = pl.program_id(1)

    @pl.when(j == 0)
    def _():
        m_ref[...] = jnp.full_like(m_ref, MASKED)
        l_ref[...] = jnp.zeros_like(l_ref)

    x = x_ref[...].astype(jnp.float32)
    column = j * x.shape[1] + jax.lax.broadcasted_iota(jnp.int32, x.shape, 1)  # iota is 2-D and integer on TPU
    x = jnp.where(column < n, x, MASKED)  # in every block: memory bound, so the select is free
    m_old = m_ref[...]
    m_new = jnp.maximum(m_old, jnp.max(x, axis=1, keepdims=True))
    l_ref[...] = jnp.exp(m_old - m_new) * l_ref[...] + jnp.sum(jnp.exp(x - m_new), axis=1, keepdims=True)
    m_ref[...] = m_new

    @pl.when(j == pl.num_programs(1) - 1)
    def _():
        o_ref[...] = m_ref[...] + jnp.log(l_ref[...])


def workload(x):
    rows, n = x.shape
    # Blocks follow the tiling, not the shape: 512 x 2048 bf16 = 2 MiB; with float32 temporaries 9.5 MiB of VMEM.
    br, bn = min(rows, 512), min(n, 2048)
    out = pl.pallas_call(
        functools.partial(kernel, n=n),
        out_shape=jax.ShapeDtypeStruct((rows, 1), jnp.float32),
        grid=(pl.cdiv(rows, br), pl.cdiv(n, bn)),
        in_specs=[pl.BlockSpec((br, bn), lambda i, j: (i, j))],
        out_specs=pl.BlockSpec((br, 1), lambda i, j: (i, 0)),
        scratch_shapes=[pltpu.VMEM((br, 1), jnp.float32), pltpu.VMEM((br, 1), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(x)
    return out[:, 0]


def reference(x):
    return jax.nn.logsumexp(x.astype(jnp.float32), axis=1)


def create_inputs(dtype=jnp.bfloat16, seed=0):
    return ((4 * jax.random.normal(jax.random.key(seed), (CONFIG["rows"], CONFIG["n"]))).astype(dtype),)
