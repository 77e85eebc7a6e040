"""---
title: Grouped matmul with ragged groups (mixture of experts)
tags: [grouped matmul, gmm, ragged_dot, moe, mixture of experts, megablox, experts]
primitives: [ragged_dot_general, dot_general]
targets: [v5e, v5p, v6e, tpu7x]
requires: {jax: ">=0.7"}
related: [api/pltpu.PrefetchScalarGridSpec, api/pl.when, api/pltpu.CompilerParams, example/matmul, example/prefetch_gather]
source: written for ragctx; the tile-and-group walk follows the idea of MegaBlocks, arXiv 2211.15841
verified: {jax: "0.10.2", libtpu: "0.0.42.1"}
---
lhs (M, K) sorted by group, rhs (G, K, N), group_sizes (G,) summing to M. Groups end inside row tiles, so the grid walks
(group, tile) pairs: M / bm + G - 1 of them at most, a static number. Copy: the walk is computed outside in jnp and
prefetched as scalars; a tile shared by several groups is visited once for each, in a row, and each visit overwrites its
own rows only. Steps left over repeat the last pair: no DMA, and `pl.when` skips the arithmetic.
K is whole in a block: a group's weights stay in VMEM over all its tiles and are read once in all; lhs is read N / bn
times, so bn is as large as VMEM allows (v4 has 16 MiB: RHS_BYTES = 2 << 20 there). Rows past sum(group_sizes) stay unset.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

CONFIG = {"M": 8192, "K": 4096, "N": 14336, "G": 8}
CHECK = {"M": 1000, "K": 512, "N": 4096, "G": 5}  # ragged M too
RHS_BYTES = 8 << 20  # a block of weights


def tile_walk(group_sizes, tiles, bm):
    """Group and row tile of every step, the groups' offsets (G + 1), the number of real steps (1)."""
    ends = jnp.cumsum(group_sizes)
    first = (ends - group_sizes) // bm
    count = jnp.where(group_sizes > 0, (ends + bm - 1) // bm - first, 0)  # an empty group has no step
    step_ends = jnp.cumsum(count)
    step = jnp.minimum(jnp.arange(tiles + group_sizes.size - 1, dtype=jnp.int32), step_ends[-1] - 1)
    group = jnp.searchsorted(step_ends, step, side="right").astype(jnp.int32)
    tile = first[group] + step - (step_ends - count)[group]
    return group, tile, jnp.pad(ends, (1, 0)), step_ends[-1:]


def kernel(group_ref, tile_ref, offset_ref, steps_ref, lhs_ref, rhs_ref, o_ref):
    step = pl.program_id(1)

    @pl.when(step < steps_ref[0])
    def _():
        group = group_ref[step]
        y = jnp.dot(lhs_ref[...], rhs_ref[...], preferred_element_type=jnp.float32)
        row = tile_ref[step] * y.shape[0] + jax.lax.broadcasted_iota(jnp.int32, y.shape, 0)
        mine = (row >= offset_ref[group]) & (row < offset_ref[group + 1])
        # Other rows keep what earlier visits wrote. In float32, as the mask comes from 32-bit rows.
        o_ref[...] = jnp.where(mine, y, o_ref[...].astype(jnp.float32)).astype(o_ref.dtype)


def workload(lhs, rhs, group_sizes):
    (m, k), (g, _, n) = lhs.shape, rhs.shape
    # bm = 256 fills the MXU and wastes at most G - 1 tiles. At K = 4096, bn = 1024: lhs 2 MiB and rhs 8 MiB, each twice,
    # plus temporaries is 23 MiB: above v5e's and v5p's default limit of 16, hence vmem_limit_bytes.
    bm = 256
    bn = next((b for b in (2048, 1024, 512, 256, 128) if n % b == 0 and b * k * rhs.dtype.itemsize <= RHS_BYTES), n)
    tiles = pl.cdiv(m, bm)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), lhs.dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=4,
            grid=(n // bn, tiles + g - 1),
            in_specs=[
                pl.BlockSpec((bm, k), lambda j, s, group, tile, *_: (tile[s], 0)),
                pl.BlockSpec((None, k, bn), lambda j, s, group, tile, *_: (group[s], 0, j)),
            ],
            out_specs=pl.BlockSpec((bm, bn), lambda j, s, group, tile, *_: (tile[s], j)),
        ),
        # "arbitrary": visits of one tile follow each other on one core.
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "arbitrary"), vmem_limit_bytes=4 * RHS_BYTES + (8 << 20)
        ),
    )(*tile_walk(group_sizes, tiles, bm), lhs, rhs)


def reference(lhs, rhs, group_sizes):
    return jax.lax.ragged_dot(lhs, rhs, group_sizes, preferred_element_type=jnp.float32).astype(lhs.dtype)


def create_inputs(dtype=jnp.bfloat16, seed=0):
    m, k, n, g = (CONFIG[name] for name in "MKNG")
    kl, kr, kg = jax.random.split(jax.random.key(seed), 3)
    cuts = jnp.sort(jax.random.randint(kg, (g - 1,), 0, m + 1, jnp.int32))
    group_sizes = jnp.diff(cuts, prepend=0, append=m)
    rhs = jax.random.normal(kr, (g, k, n)) * k**-0.5
    return jax.random.normal(kl, (m, k)).astype(dtype), rhs.astype(dtype), group_sizes
