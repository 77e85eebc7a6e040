"""A small matmul in float32 with a tolerance loose enough for shorter floats to hide in."""

import jax
import jax.numpy as jnp

CONFIG = {"m": 512, "k": 256, "n": 256}
CHECK = {"m": 256, "k": 128, "n": 128}
TOLERANCE = (0.1, 0.1)


def create_inputs(dtype=jnp.float32, seed=0):
    a_key, b_key = jax.random.split(jax.random.key(seed))
    a = jax.random.normal(a_key, (CONFIG["m"], CONFIG["k"]), dtype)
    return a, jax.random.normal(b_key, (CONFIG["k"], CONFIG["n"]), dtype) * CONFIG["k"] ** -0.5


def workload(a, b):
    return jnp.dot(a, b, precision=jax.lax.Precision.HIGHEST)
