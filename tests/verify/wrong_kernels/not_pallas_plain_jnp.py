# expect: integrity not_pallas
# plain jnp

import jax
import jax.numpy as jnp


def workload(x):
    return jnp.maximum(x, 0.0) * 2.0


def reference(x):
    return jnp.maximum(x, 0.0) * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
