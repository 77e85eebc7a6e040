"""Causal attention: a block of queries at a time, keys and values of its head in VMEM, online softmax over blocks."""

import functools
import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

MASKED = -1e30


def kernel(q_ref, k_ref, v_ref, o_ref, *, block):
    first_query = pl.program_id(2) * block
    q = q_ref[...]
    rows, width = q.shape
    query = first_query + jax.lax.broadcasted_iota(jnp.int32, (rows, block), 0)

    def add_block(number, carry):
        top, total, acc = carry
        start = pl.multiple_of(number * block, block)
        k, v = k_ref[pl.ds(start, block), :], v_ref[pl.ds(start, block), :]
        scores = jax.lax.dot_general(q, k, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32) * width**-0.5
        key = start + jax.lax.broadcasted_iota(jnp.int32, (rows, block), 1)
        scores = jnp.where(key <= query, scores, MASKED)
        higher = jnp.maximum(top, jnp.max(scores, axis=1, keepdims=True))
        weights, shrink = jnp.exp(scores - higher), jnp.exp(top - higher)
        total = shrink * total + jnp.sum(weights, axis=1, keepdims=True)
        acc = shrink * acc + jnp.dot(weights.astype(v.dtype), v, preferred_element_type=jnp.float32)
        return higher, total, acc

    start = jnp.full((rows, 1), MASKED, jnp.float32), jnp.zeros((rows, 1), jnp.float32), jnp.zeros(q.shape, jnp.float32)
    _, total, acc = jax.lax.fori_loop(0, pl.program_id(2) + 1, add_block, start)
    o_ref[...] = (acc / total).astype(o_ref.dtype)


def workload(q, k, v):
    batch, heads, length, width = q.shape
    block = math.gcd(length, 512)
    rows = pl.BlockSpec((None, None, block, width), lambda b, h, i: (b, h, i, 0))
    head = pl.BlockSpec((None, None, length, width), lambda b, h, i: (b, h, 0, 0))
    return pl.pallas_call(
        functools.partial(kernel, block=block),
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        grid=(batch, heads, length // block),
        in_specs=[rows, head, head],
        out_specs=rows,
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "parallel")),
    )(q, k, v)
