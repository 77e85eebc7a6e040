"""A small memory-bound workload in float32: rows divided by their largest magnitude."""

import jax
import jax.numpy as jnp

CONFIG = {"rows": 512, "width": 256}
CHECK = {"rows": 64, "width": 128}


def create_inputs(dtype=jnp.float32, seed=0):
    return (jax.random.normal(jax.random.key(seed), (CONFIG["rows"], CONFIG["width"]), dtype),)


def workload(x):
    return x / (1.0 + jnp.max(jnp.abs(x), axis=1, keepdims=True))
