# expect: trace wrong_type
# float32 where the workload returns bfloat16

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)


def workload(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 128), jnp.float32))(x, y)


def reference(x, y):
    return jnp.dot(x, y)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (64, 128)).astype(jnp.bfloat16),
        jax.random.normal(keys[1], (128, 128)).astype(jnp.bfloat16),
    )
