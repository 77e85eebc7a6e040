# expect: integrity not_pallas
# a kernel that is defined and not called

import jax
import jax.numpy as jnp


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)


def workload(x, y):
    return jnp.matmul(x, y, precision="highest")


def reference(x, y):
    return jnp.matmul(x, y, precision="highest")


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (128, 128), jnp.float32),
        jax.random.normal(keys[1], (128, 128), jnp.float32),
    )
