"""Dense matrix multiplication: [M, K] times [K, N], accumulated in float32 and rounded to the inputs' type.

The up-projection of Llama-3.1-70B's MLP (emb_dim 8192 to mlp_dim 28672; arXiv 2407.21783) for 8192 tokens. The right
operand is scaled by 1/sqrt(K), so outputs have a standard deviation of one.
"""

import jax
import jax.numpy as jnp

CONFIG = {
    "model": "Llama-3.1-70B",
    "operator": "dense_matmul",
    "M": 8192,
    "K": 8192,
    "N": 28672,
}

# 3584 = 512 * 7 keeps every divisor of 28672 up to 512.
CHECK = {"M": 1024, "K": 1024, "N": 3584}


def create_inputs(dtype=jnp.bfloat16, seed=0):
    a_key, b_key = jax.random.split(jax.random.key(seed))
    a = jax.random.normal(a_key, (CONFIG["M"], CONFIG["K"]), jnp.float32)
    b = jax.random.normal(b_key, (CONFIG["K"], CONFIG["N"]), jnp.float32) * CONFIG["K"] ** -0.5
    return a.astype(dtype), b.astype(dtype)


def workload(a, b):
    return jnp.matmul(a, b, preferred_element_type=jnp.float32).astype(a.dtype)


def get_flops():
    return 2 * CONFIG["M"] * CONFIG["K"] * CONFIG["N"]
