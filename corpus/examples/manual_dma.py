"""---
title: Manual DMA with double buffering (mean over ragged lengths)
tags: [dma, async copy, double buffering, semaphore, ragged, lengths, mean, pooling]
primitives: [reduce_sum, while]
requires: {jax: ">=0.7"}
related: [api/pltpu.make_async_copy, api/pl.ANY, api/pltpu.SemaphoreType, api/pltpu.PrefetchScalarGridSpec, example/emit_pipeline]
source: written for ragctx
verified: {jax: "0.10.2", libtpu: "0.0.42.1"}
---
Mean of x[b, :lengths[b]]. How many chunks to read depends on data, which a grid of blocks cannot express: it would fetch
all of S. Copy: x stays in HBM (`pl.ANY`), two VMEM buffers and a DMA semaphore for each; start chunk c + 1, then wait
for chunk c, then compute on it while the next one flies.
Every start needs exactly one wait on the same semaphore: a missing wait reads stale data, a second one hangs. A ref in
`pl.ANY` can only be copied, not loaded. Offsets along the last two dimensions must be provably whole tiles
(`pl.multiple_of`), and a copy must stay inside the array: here the chunk divides S and the last one is masked.
"""

import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

CONFIG = {"B": 64, "S": 8192, "D": 2048}
CHECK = {"B": 5, "S": 1024, "D": 512}


def kernel(lengths_ref, x_hbm, o_ref, buffers, arrived):
    b, chunk = pl.program_id(0), buffers.shape[1]
    length = lengths_ref[b]
    chunks = (length + chunk - 1) // chunk

    def copy(c):  # made again to wait: the descriptor only has to be equal
        slot = c % 2
        rows = pl.ds(pl.multiple_of(c * chunk, chunk), chunk)
        return pltpu.make_async_copy(x_hbm.at[b, rows, :], buffers.at[slot], arrived.at[slot])

    @pl.when(chunks > 0)
    def _():
        copy(0).start()

    def add_chunk(c, total):
        @pl.when(c + 1 < chunks)
        def _():
            copy(c + 1).start()  # into the buffer whose data the last iteration has used up

        copy(c).wait()
        x = buffers[c % 2].astype(jnp.float32)
        row = c * chunk + jax.lax.broadcasted_iota(jnp.int32, x.shape, 0)
        x = jnp.where(row < length, x, 0.0)  # select, not multiply: what is masked may be NaN
        return total + x.reshape(-1, 8, x.shape[1]).sum(axis=0)

    total = jax.lax.fori_loop(0, chunks, add_chunk, jnp.zeros((8, buffers.shape[2]), jnp.float32))
    o_ref[...] = total.sum(axis=0, keepdims=True) / jnp.maximum(length, 1).astype(jnp.float32)


def workload(x, lengths):
    b, s, d = x.shape
    # 1 MiB a chunk: long enough to hide the latency of a DMA, short enough not to read far past the length.
    chunk = math.gcd(s, pl.next_power_of_2((1 << 20) // (d * x.dtype.itemsize)))
    out = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((b, 1, d), jnp.float32),  # the axis of 1 makes (1, d) a legal block
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,  # lengths to SMEM: loop bounds are scalars
            grid=(b,),
            in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            out_specs=pl.BlockSpec((None, 1, d), lambda b, lengths: (b, 0, 0)),
            scratch_shapes=[pltpu.VMEM((2, chunk, d), x.dtype), pltpu.SemaphoreType.DMA((2,))],
        ),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(lengths, x)
    return out[:, 0]


def reference(x, lengths):
    valid = jnp.arange(x.shape[1])[None, :, None] < lengths[:, None, None]
    total = jnp.sum(jnp.where(valid, x.astype(jnp.float32), 0.0), axis=1)
    return total / jnp.maximum(lengths, 1)[:, None].astype(jnp.float32)


def create_inputs(dtype=jnp.bfloat16, seed=0):
    kx, kl = jax.random.split(jax.random.key(seed))
    b, s, d = CONFIG["B"], CONFIG["S"], CONFIG["D"]
    lengths = jax.random.randint(kl, (b,), 0, s + 1, jnp.int32).at[0].set(0).at[-1].set(s)
    return jax.random.normal(kx, (b, s, d)).astype(dtype), lengths


TOLERANCE = (1e-6, 1e-4)  # means of many values are small
