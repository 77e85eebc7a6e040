"""Causal multi-head attention over full sequences: softmax(q k^T / sqrt(d)) v, each query seeing keys up to itself.

Vaswani et al., "Attention Is All You Need" (arXiv 1706.03762), at the size for which the published kernel is flash
attention (Dao et al., arXiv 2205.14135). Layout [batch, heads, sequence, head_dim]. Scores and softmax are in float32;
the weights are rounded to the inputs' type for the second matmul, which accumulates in float32.

Queries have a standard deviation of 3: with 1, a softmax over thousands of random keys is nearly flat, every output is
an average close to zero, and at a tolerance of 1e-2 zeros would be right almost everywhere.
"""

import jax
import jax.numpy as jnp

CONFIG = {
    "model": "Baseline-MHA",
    "operator": "causal_mha",
    "batch": 4,
    "seq_len": 4096,
    "num_heads": 64,
    "head_dim": 128,
}

CHECK = {"batch": 2, "seq_len": 1024, "num_heads": 4}

# Scaling the queries before they are rounded, as kernels do, moves peaked weights: up to 0.023 was measured.
TOLERANCE = (3e-2, 1e-2)


def create_inputs(dtype=jnp.bfloat16, seed=0):
    shape = (CONFIG["batch"], CONFIG["num_heads"], CONFIG["seq_len"], CONFIG["head_dim"])
    q_key, k_key, v_key = jax.random.split(jax.random.key(seed), 3)
    q = (3.0 * jax.random.normal(q_key, shape, jnp.float32)).astype(dtype)
    k = jax.random.normal(k_key, shape, jnp.float32).astype(dtype)
    v = jax.random.normal(v_key, shape, jnp.float32).astype(dtype)
    return q, k, v


def workload(q, k, v):
    seq_len, head_dim = q.shape[-2:]
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32) * head_dim**-0.5
    causal = jnp.arange(seq_len)[:, None] >= jnp.arange(seq_len)[None, :]
    weights = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1)
    out = jnp.einsum("bhqk,bhkd->bhqd", weights.astype(v.dtype), v, preferred_element_type=jnp.float32)
    return out.astype(q.dtype)


def get_flops():
    """Return the two matmuls over the full square of scores; a kernel that skips masked blocks needs about half."""
    return 4 * CONFIG["batch"] * CONFIG["num_heads"] * CONFIG["seq_len"] ** 2 * CONFIG["head_dim"]
