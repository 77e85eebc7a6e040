"""---
title: Fused elementwise kernel (bias, GELU, residual)
tags: [elementwise, fusion, activation, gelu, bias, residual, memory bound]
primitives: [add, mul, tanh]
requires: {jax: ">=0.7"}
related: [api/pl.pallas_call, api/pl.BlockSpec, api/pltpu.CompilerParams]
source: written for ragctx
verified: {jax: "0.10.2", libtpu: "0.0.42.1"}
---
`residual + gelu(x + bias)` in one pass over HBM. Copy: blocks of whole rows, sized by bytes; a (1, n) block with a
constant index for the vector that every row shares; arithmetic in float32, one cast at the store.
It is memory bound: time is bytes / bandwidth, so nothing matters but reading and writing each array once, in blocks of
about 1 MiB (much smaller ones leave the DMA idle between grid steps). XLA fuses such chains by itself: write this by
hand only as the head or tail of a bigger kernel. Exact GELU does not lower (`erfc`); the tanh form does.
The last block may be ragged: rows are independent, and what is computed from padding is never written back.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

CONFIG = {"rows": 16384, "features": 8192}
CHECK = {"rows": 2500, "features": 512}  # ragged: 2500 is not a multiple of the block


def kernel(x_ref, bias_ref, residual_ref, o_ref):
    # float32: before v6e the vector unit has no bf16, and the cast costs nothing next to the memory traffic.
    h = x_ref[...].astype(jnp.float32) + bias_ref[...].astype(jnp.float32)  # (1, n) broadcasts along sublanes: free
    h = jax.nn.gelu(h, approximate=True)
    o_ref[...] = (residual_ref[...].astype(jnp.float32) + h).astype(o_ref.dtype)


def workload(x, bias, residual):
    rows, n = x.shape
    # 1 MiB a block: 3 arrays x 2 buffers = 6 MiB, inside v5e's default 16 MiB.
    # A multiple of 16 sublanes suits bf16 (32 for int8); whole rows make each block one contiguous DMA.
    block = min(rows, max(16, (1 << 20) // (n * x.dtype.itemsize) // 16 * 16))
    row_block = pl.BlockSpec((block, n), lambda i: (i, 0))  # in blocks, not in elements
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(pl.cdiv(rows, block),),
        in_specs=[row_block, pl.BlockSpec((1, n), lambda i: (0, 0)), row_block],
        out_specs=row_block,
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x, bias.reshape(1, n), residual)


def reference(x, bias, residual):
    x, bias, residual = (a.astype(jnp.float32) for a in (x, bias, residual))
    return (residual + jax.nn.gelu(x + bias, approximate=True)).astype(jnp.bfloat16)


def create_inputs(dtype=jnp.bfloat16, seed=0):
    kx, kb, kr = jax.random.split(jax.random.key(seed), 3)
    shape = (CONFIG["rows"], CONFIG["features"])
    return (
        jax.random.normal(kx, shape).astype(dtype),
        jax.random.normal(kb, shape[1:]).astype(dtype),
        jax.random.normal(kr, shape).astype(dtype),
    )
