"""Root mean square layer normalisation over the last axis: x / sqrt(mean(x^2) + epsilon) * weight.

Zhang and Sennrich, "Root Mean Square Layer Normalization" (arXiv 1910.07467), at the size of Llama-3.1-70B. The mean
and the scaling are in float32, rounded once at the end. Weights lie around one, as trained ones do, and differ by
channel, so that a kernel that forgets them is wrong.
"""

import jax
import jax.numpy as jnp

CONFIG = {
    "model": "Llama-3.1-70B",
    "operator": "rms_norm",
    "batch": 8,
    "seq_len": 4096,
    "emb_dim": 8192,
    "epsilon": 1e-5,
}

CHECK = {"seq_len": 512, "emb_dim": 1024}


def create_inputs(dtype=jnp.bfloat16, seed=0):
    x_key, weight_key = jax.random.split(jax.random.key(seed))
    x = jax.random.normal(x_key, (CONFIG["batch"], CONFIG["seq_len"], CONFIG["emb_dim"]), jnp.float32)
    weight = jax.random.uniform(weight_key, (CONFIG["emb_dim"],), jnp.float32, 0.5, 1.5)
    return x.astype(dtype), weight.astype(dtype)


def workload(x, weight):
    x32 = x.astype(jnp.float32)
    mean_square = jnp.mean(x32 * x32, axis=-1, keepdims=True)
    normed = x32 * jax.lax.rsqrt(mean_square + CONFIG["epsilon"])
    return (normed * weight.astype(jnp.float32)).astype(x.dtype)


def get_flops():
    """Return square, add, scale and weight: four an element (the row's own rsqrt is not counted)."""
    return 4 * CONFIG["batch"] * CONFIG["seq_len"] * CONFIG["emb_dim"]
