"""---
title: Batched matmul with a squeezed batch dimension
tags: [batched matmul, bmm, einsum, matmul, batch, heads]
primitives: [dot_general]
requires: {jax: ">=0.7"}
related: [api/pl.BlockSpec, api/pl.Squeezed, api/pltpu.CompilerParams, example/matmul]
source: written for ragctx
verified: {jax: "0.10.2", libtpu: "0.0.42.1"}
---
(B, M, K) @ (B, K, N), one product a batch element. Copy: `None` in the block shape takes one batch element and drops
the dimension, so that the kernel sees 2-D blocks; the batch is simply the first grid axis.
K is whole in the block, so there is no accumulator and no K axis: right while (bm + bn) * K fits VMEM (otherwise see
example/matmul). N is the fastest axis, so a block of x stays in VMEM while w streams past: a block is fetched again only
when its index changes from one grid step to the next. For many tiny products put several batch elements in one block.
"""

import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

CONFIG = {"B": 32, "M": 2048, "K": 1024, "N": 2048}
CHECK = {"B": 2, "M": 1024, "K": 256, "N": 1024}


def kernel(x_ref, w_ref, o_ref):  # (bm, K), (K, bn), (bm, bn): the batch dimension is gone
    o_ref[...] = jnp.dot(x_ref[...], w_ref[...], preferred_element_type=jnp.float32).astype(o_ref.dtype)


def block(n, most):
    return b if (b := math.gcd(n, most)) >= 128 else n  # a power of two that divides n, else the whole axis


def workload(x, w):
    (b, m, k), n = x.shape, w.shape[2]
    # 512 x 512 x K=1024 in bf16: (1 + 1 + 0.5) MiB * 2 buffers + 1 MiB float32 product = 6 MiB.
    bm, bn = block(m, 512), block(n, 512)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((b, m, n), x.dtype),
        grid=(b, m // bm, n // bn),
        in_specs=[
            pl.BlockSpec((None, bm, k), lambda b, i, j: (b, i, 0)),  # index maps still return 3 values
            pl.BlockSpec((None, k, bn), lambda b, i, j: (b, 0, j)),
        ],
        out_specs=pl.BlockSpec((None, bm, bn), lambda b, i, j: (b, i, j)),
        # Every step writes a block of its own, so all axes are independent (two cores of v4 and v5p share them).
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "parallel")),
    )(x, w)


def reference(x, w):
    return jnp.einsum("bmk,bkn->bmn", x, w, preferred_element_type=jnp.float32).astype(x.dtype)


def create_inputs(dtype=jnp.bfloat16, seed=0):
    kx, kw = jax.random.split(jax.random.key(seed))
    b, m, k, n = (CONFIG[name] for name in "BMKN")
    return jax.random.normal(kx, (b, m, k)).astype(dtype), (jax.random.normal(kw, (b, k, n)) * k**-0.5).astype(dtype)
