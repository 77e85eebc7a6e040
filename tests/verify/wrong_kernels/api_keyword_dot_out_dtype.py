# expect: api api_keyword
# out_dtype= of a dot

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...], out_dtype=jnp.float32)


def workload(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 128), jnp.float32))(x, y)


def reference(x, y):
    return jnp.dot(x, y, preferred_element_type=jnp.float32)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (64, 128)).astype(jnp.bfloat16),
        jax.random.normal(keys[1], (128, 128)).astype(jnp.bfloat16),
    )
