"""Paged attention: the page of each grid step comes from prefetched indices, softmax is kept up over the pages.

Which sequence a row belongs to, and its position, is a few integers a row, worked out before the kernel.
"""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

MASKED = -1e30


def kernel(sequence_ref, last_ref, pages_ref, q_ref, k_ref, v_ref, o_ref, top_ref, total_ref, acc_ref):
    row, page = pl.program_id(0), pl.program_id(1)
    page_size, kv_heads, width = k_ref.shape
    group = q_ref.shape[0] // kv_heads
    last = last_ref[row]

    @pl.when(page == 0)
    def _():
        top_ref[...] = jnp.full_like(top_ref, MASKED)
        total_ref[...] = jnp.zeros_like(total_ref)
        acc_ref[...] = jnp.zeros_like(acc_ref)

    @pl.when(page * page_size <= last)
    def _():
        position = page * page_size + jax.lax.broadcasted_iota(jnp.int32, (group, page_size), 1)
        for head in range(kv_heads):
            rows = pl.ds(head * group, group)
            k, v = k_ref[:, head, :], v_ref[:, head, :]
            contract = (((1,), (1,)), ((), ()))
            scores = jax.lax.dot_general(q_ref[rows, :], k, contract, preferred_element_type=jnp.float32)
            scores = jnp.where(position <= last, scores * width**-0.5, MASKED)
            old = top_ref[rows, :]
            top = jnp.maximum(old, jnp.max(scores, axis=1, keepdims=True))
            weights, shrink = jnp.exp(scores - top), jnp.exp(old - top)
            top_ref[rows, :] = top
            total_ref[rows, :] = shrink * total_ref[rows, :] + jnp.sum(weights, axis=1, keepdims=True)
            values = jnp.dot(weights.astype(v.dtype), v, preferred_element_type=jnp.float32)
            acc_ref[rows, :] = shrink * acc_ref[rows, :] + values

    @pl.when(page == pl.num_programs(1) - 1)
    def _():
        o_ref[...] = (acc_ref[...] / total_ref[...]).astype(o_ref.dtype)


def workload(q, k_pages, v_pages, kv_lens, page_indices, cu_q_lens):
    rows, heads, width = q.shape
    _, page_size, kv_heads, _ = k_pages.shape
    row = jnp.arange(rows, dtype=jnp.int32)
    sequence = jnp.sum(cu_q_lens[None, 1:] <= row[:, None], axis=1, dtype=jnp.int32)
    last = kv_lens[sequence] - (cu_q_lens[sequence + 1] - row)

    def page_of(row, page, sequence_ref, last_ref, pages_ref):
        # Past the last page the index stays the same, and an unchanged index fetches nothing.
        return pages_ref[sequence_ref[row], jnp.minimum(page, last_ref[row] // page_size)], 0, 0, 0

    pages = pl.BlockSpec((None, page_size, kv_heads, width), page_of)
    row_of_heads = pl.BlockSpec((None, heads, width), lambda row, page, *_: (row, 0, 0))
    column = pltpu.VMEM((heads, 1), jnp.float32)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=3,
            grid=(rows, page_indices.shape[1]),
            in_specs=[row_of_heads, pages, pages],
            out_specs=row_of_heads,
            scratch_shapes=[column, column, pltpu.VMEM((heads, width), jnp.float32)],
        ),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(sequence, last, page_indices, q, k_pages, v_pages)
