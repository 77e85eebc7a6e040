"""---
title: Page gather with scalar prefetch
tags: [gather, take, indexing, scalar prefetch, page table, paged, kv cache, embedding]
primitives: [gather]
requires: {jax: ">=0.7"}
related: [api/pltpu.PrefetchScalarGridSpec, api/pl.BlockSpec, api/pltpu.CompilerParams, example/grouped_matmul, example/manual_dma]
source: written for ragctx
verified: {jax: "0.10.2", libtpu: "0.0.42.1"}
---
`pages[page_table]`: which block to fetch depends on data. Copy: `PrefetchScalarGridSpec` puts the first
`num_scalar_prefetch` inputs into SMEM before the grid starts; every index map gets them as refs after the grid indices,
the kernel gets them first. So the pipeline knows the next address early and overlaps the fetch like any other.
The constraint: the unit gathered is a block, so its last two dimensions obey the tiling rule (8 and 128, or whole).
Single rows of a (V, D) table do not: gather whole pages, as here, or fetch rows by manual DMA. An index map cannot read
an array it captures, and SMEM holds 1 MiB, with the last dimension padded to 128 words: keep tables flat.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

CONFIG = {"pages": 2048, "page_size": 128, "features": 1024, "sequences": 16, "pages_per_sequence": 64}
CHECK = {"pages": 24, "page_size": 32, "features": 256, "sequences": 3, "pages_per_sequence": 4}


def kernel(table_ref, page_ref, o_ref):  # scalar-prefetch refs first, even if only the index map needs them
    del table_ref
    o_ref[...] = page_ref[...]  # work on the gathered page goes here, so that it is not written out and read again


def workload(pages, page_table):
    _, size, d = pages.shape
    sequences, per_sequence = page_table.shape
    # A page is a step: 128 x 1024 bf16 = 256 KiB. With far smaller pages the steps cost more than their DMA.
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((sequences, per_sequence * size, d), pages.dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(sequences, per_sequence),
            in_specs=[pl.BlockSpec((None, size, d), lambda s, p, table: (table[s * per_sequence + p], 0, 0))],
            out_specs=pl.BlockSpec((None, size, d), lambda s, p, table: (s, p, 0)),
        ),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
    )(page_table.reshape(-1), pages)  # prefetched scalars come first; indices are int32 and must be in range


def reference(pages, page_table):
    return pages[page_table].reshape(page_table.shape[0], -1, pages.shape[-1])


def create_inputs(dtype=jnp.bfloat16, seed=0):
    kp, kt = jax.random.split(jax.random.key(seed))
    pages = jax.random.normal(kp, (CONFIG["pages"], CONFIG["page_size"], CONFIG["features"])).astype(dtype)
    shape = (CONFIG["sequences"], CONFIG["pages_per_sequence"])
    return pages, jax.random.randint(kt, shape, 0, CONFIG["pages"], jnp.int32)


TOLERANCE = (0.0, 0.0)  # a copy is exact
