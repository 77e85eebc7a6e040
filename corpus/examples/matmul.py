"""---
title: Matmul with a float32 accumulator over a K grid axis
tags: [matmul, gemm, linear, dense, accumulator, einsum]
primitives: [dot_general]
requires: {jax: ">=0.7"}
related: [api/pl.pallas_call, api/pl.when, api/pltpu.VMEM, api/pltpu.CompilerParams, example/batched_matmul]
source: written for ragctx; ridge points from pltpu.get_tpu_info_for_chip
verified: {jax: "0.10.2", libtpu: "0.0.42.1"}
---
(M, K) @ (K, N) tiled over M, N and K. Copy: K is the last grid axis, so that one output block is finished before the
next begins; partial sums live in a float32 VMEM scratch, set at the first K step and stored at the last.
`preferred_element_type=jnp.float32` is required: a bf16 accumulator does not lower. K must be "arbitrary": "parallel"
lets its steps run in any order or on two cores, which gives wrong sums without an error.
Only worth it with something fused into the last step (bias, activation, scale): XLA's own matmul is hard to beat.
"""

import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

CONFIG = {"M": 8192, "K": 4096, "N": 8192}
CHECK = {"M": 2048, "K": 1024, "N": 2048}


def kernel(x_ref, w_ref, o_ref, acc_ref):
    k = pl.program_id(2)

    @pl.when(k == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)  # scratch is not cleared, not between output blocks either

    acc_ref[...] += jnp.dot(x_ref[...], w_ref[...], preferred_element_type=jnp.float32)

    @pl.when(k == pl.num_programs(2) - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)  # a fused tail goes here, in float32


def block(n, most):
    """The largest power of two up to `most` that divides n, or the whole axis where that is under 128."""
    return b if (b := math.gcd(n, most)) >= 128 else n


def workload(x, w):
    (m, k), n = x.shape, w.shape[1]
    # HBM intensity of a (bm, bn) tile in bf16 is bm * bn / (bm + bn) FLOP/byte: 1024 x 1024 gives 512, at v6e's ridge
    # of about 560 and above the others'. VMEM: (bm*bk + bk*bn + bm*bn) * 2 bytes * 2 buffers + 4 bytes * bm*bn = 12 MiB,
    # under 16 MiB (v4's whole VMEM, v5e's and v5p's default limit; elsewhere raise vmem_limit_bytes and bn).
    # Multiples of 256 keep the MXU (128 wide, 256 on v6e and tpu7x) full.
    bm, bn, bk = block(m, 1024), block(n, 1024), block(k, 512)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(m // bm, n // bn, k // bk),
        in_specs=[
            pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)),
            pl.BlockSpec((bk, bn), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),  # same block for all k: stays in VMEM
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(x, w)


def reference(x, w):
    return jnp.dot(x, w, preferred_element_type=jnp.float32).astype(x.dtype)


def create_inputs(dtype=jnp.bfloat16, seed=0):
    kx, kw = jax.random.split(jax.random.key(seed))
    m, k, n = CONFIG["M"], CONFIG["K"], CONFIG["N"]
    return jax.random.normal(kx, (m, k)).astype(dtype), (jax.random.normal(kw, (k, n)) * k**-0.5).astype(dtype)
