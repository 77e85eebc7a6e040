# expect: import entry_point
# workload is a result, not a function

import jax
import jax.numpy as jnp


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


workload = {"kernel": kernel, "block": (64, 128)}


def reference(x):
    return x * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
