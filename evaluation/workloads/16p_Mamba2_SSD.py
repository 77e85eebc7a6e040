"""State space duality of Mamba-2: a linear recurrence with a scalar decay a head, written as masked attention.

Dao and Gu, "Transformers are SSMs" (arXiv 2405.21060), section 3 and equation 2. For each batch and head, with a state
h of [N, P]:

    h[t] = exp(A_log[t]) * h[t - 1] + outer(B[t], X[t]),    h[-1] = 0
    Y[t] = C[t] @ h[t]

computed here in its quadratic form Y = (L o (C B^T)) X with L[i, j] = exp(A_log[j + 1] + ... + A_log[i]) for j <= i,
else 0. `A_log` is the logarithm of the decay already multiplied by its step (the paper's Delta_t * A), so it is below
zero. Layout [batch, heads, sequence, head_dim]. The published shapes give B and C the width head_dim, not CONFIG's
d_state, which the operator does not use. Cumulative sums, scores and decays are in float32; the weights are rounded to
X's type for the second matmul, which accumulates in float32.

Each head has a rate of its own between 0.002 and 0.5 a step, so memories reach from two tokens to hundreds: a kernel
that drops the state between chunks is wrong. X is scaled by sqrt(1 - decay^2), as the step scales it in the paper, and
B by 1/sqrt(head_dim), so that outputs are of order one in every head.
"""

import jax
import jax.numpy as jnp

CONFIG = {
    "model": "Mamba-2-2.7B",
    "operator": "state_space_duality",
    "batch": 4,
    "seq_len": 4096,
    "num_heads": 64,
    "head_dim": 64,
    "d_state": 128,
    "d_model": 2560,
}

CHECK = {"batch": 2, "seq_len": 1024, "num_heads": 4}

# The chunked form with its state rounded to bfloat16 between chunks was measured up to 14 % outside 1e-2.
TOLERANCE = (2e-2, 1e-2)


def create_inputs(dtype=jnp.bfloat16, seed=0):
    heads = (CONFIG["batch"], CONFIG["num_heads"])
    shape = (*heads, CONFIG["seq_len"], CONFIG["head_dim"])
    c_key, b_key, x_key, rate_key, step_key = jax.random.split(jax.random.key(seed), 5)
    rate = jnp.exp(jax.random.uniform(rate_key, (*heads, 1), jnp.float32, jnp.log(0.002), jnp.log(0.5)))
    log_decay = -rate * jax.random.uniform(step_key, shape[:3], jnp.float32, 0.5, 1.5)
    c = jax.random.normal(c_key, shape, jnp.float32)
    b = jax.random.normal(b_key, shape, jnp.float32) * CONFIG["head_dim"] ** -0.5
    x = jax.random.normal(x_key, shape, jnp.float32) * jnp.sqrt(-jnp.expm1(2.0 * log_decay))[..., None]
    return c.astype(dtype), b.astype(dtype), x.astype(dtype), log_decay


def workload(C, B, X, A_log):
    seq_len = X.shape[2]
    total = jnp.cumsum(A_log, axis=-1)
    causal = jnp.arange(seq_len)[:, None] >= jnp.arange(seq_len)[None, :]
    decay = jnp.exp(jnp.where(causal, total[..., :, None] - total[..., None, :], -jnp.inf))
    scores = jnp.einsum("bhin,bhjn->bhij", C, B, preferred_element_type=jnp.float32)
    weights = (scores * decay).astype(X.dtype)
    return jnp.einsum("bhij,bhjp->bhip", weights, X, preferred_element_type=jnp.float32).astype(X.dtype)


def get_flops():
    """Return the two matmuls of the quadratic form; the chunked form needs far fewer."""
    return 4 * CONFIG["batch"] * CONFIG["num_heads"] * CONFIG["seq_len"] ** 2 * CONFIG["head_dim"]
