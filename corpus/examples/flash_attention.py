"""---
title: Causal flash attention (online softmax, grouped heads, bf16)
tags: [attention, flash attention, causal, gqa, mha, online softmax]
primitives: [dot_general, exp, reduce_max, reduce_sum]
requires: {jax: ">=0.7"}
related: [api/pl.when, api/pltpu.VMEM, api/pltpu.CompilerParams, example/softmax, example/matmul]
source: written for ragctx; online softmax as in arXiv 1805.02867
verified: {jax: "0.10.2", libtpu: "0.0.42.1"}
---
q (B, H, S, D) against k, v (B, H_kv, S, D), H a multiple of H_kv. Copy: key blocks are the last grid axis; running
maximum m, sum l and output acc stay in float32 scratch and are rescaled by exp(m_old - m_new) when the maximum grows.
Above the diagonal `pl.when` skips the arithmetic and the clamped index map the DMA (an unchanged index fetches nothing).
Only blocks on the diagonal pay for the mask, which is finite: -inf - -inf is NaN. S must be a multiple of 128.
"""

import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

CONFIG = {"B": 2, "H": 32, "H_kv": 8, "S": 4096, "D": 128}
CHECK = {"B": 1, "H": 4, "H_kv": 2, "S": 2048}
MASKED = -1e30


def kernel(q_ref, k_ref, v_ref, o_ref, m_ref, l_ref, acc_ref):
    i, j = pl.program_id(2), pl.program_id(3)
    (bq, d), bk = q_ref.shape, k_ref.shape[0]

    @pl.when(j == 0)
    def _():
        m_ref[...] = jnp.full_like(m_ref, MASKED)
        l_ref[...] = jnp.zeros_like(l_ref)
        acc_ref[...] = jnp.zeros_like(acc_ref)

    def step(on_diagonal):
        contract_d = (((1,), (1,)), ((), ()))  # q @ k.T without making the transpose
        s = jax.lax.dot_general(q_ref[...], k_ref[...], contract_d, preferred_element_type=jnp.float32) * d**-0.5
        if on_diagonal:
            ahead = jax.lax.broadcasted_iota(jnp.int32, s.shape, 1) - jax.lax.broadcasted_iota(jnp.int32, s.shape, 0)
            s = jnp.where(ahead <= lead, s, MASKED)
        m_old = m_ref[...]
        m_new = jnp.maximum(m_old, jnp.max(s, axis=1, keepdims=True))
        p = jnp.exp(s - m_new)
        shrink = jnp.exp(m_old - m_new)
        m_ref[...] = m_new
        l_ref[...] = shrink * l_ref[...] + jnp.sum(p, axis=1, keepdims=True)
        pv = jnp.dot(p.astype(v_ref.dtype), v_ref[...], preferred_element_type=jnp.float32)  # bf16: full rate
        acc_ref[...] = shrink * acc_ref[...] + pv

    lead = i * bq - j * bk  # first query's position less first key's
    pl.when(lead >= bk - 1)(lambda: step(False))  # all keys visible
    pl.when((lead < bk - 1) & (lead > -bq))(lambda: step(True))  # traced: `&`, not `and`

    @pl.when(j == pl.num_programs(3) - 1)
    def _():
        o_ref[...] = (acc_ref[...] / l_ref[...]).astype(o_ref.dtype)


def workload(q, k, v):
    (b, h, s, d), h_kv = q.shape, k.shape[1]
    # Large blocks: acc is rescaled once a key block. 1024 x 1024 float32 scores are 4 MiB; in all 10 MiB of VMEM.
    bq = bk = math.gcd(s, 1024)
    group = h // h_kv  # heads of a group share a key head by index: nothing is repeated in HBM

    def kv_index(b, h, i, j):
        return b, h // group, jnp.minimum(j, ((i + 1) * bq - 1) // bk), 0

    qo = pl.BlockSpec((None, None, bq, d), lambda b, h, i, j: (b, h, i, 0))
    kv = pl.BlockSpec((None, None, bk, d), kv_index)
    column = pltpu.VMEM((bq, 1), jnp.float32)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        grid=(b, h, s // bq, s // bk),
        in_specs=[qo, kv, kv],
        out_specs=qo,
        scratch_shapes=[column, column, pltpu.VMEM((bq, d), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "parallel", "arbitrary")),
    )(q, k, v)


def reference(q, k, v):
    k, v = (jnp.repeat(x.astype(jnp.float32), q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    s = jnp.einsum("bhqd,bhkd->bhqk", q.astype(jnp.float32), k) * q.shape[-1] ** -0.5
    s = jnp.where(jnp.tri(s.shape[-1], dtype=bool), s, -jnp.inf)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s), v).astype(q.dtype)


def create_inputs(dtype=jnp.bfloat16, seed=0):
    b, h, h_kv, s, d = (CONFIG[name] for name in ("B", "H", "H_kv", "S", "D"))
    qkv = jax.random.normal(jax.random.key(seed), (b, h + 2 * h_kv, s, d)).astype(dtype)
    return tuple(jnp.split(qkv, (h, h + h_kv), axis=1))
