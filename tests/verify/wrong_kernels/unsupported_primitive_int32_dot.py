# expect: compile unsupported_primitive
# an int32 dot

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.int32)


def workload(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.int32))(x, y)


def reference(x, y):
    return x @ y


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (128, 128), 0, 9, jnp.int32),
        jax.random.randint(keys[1], (128, 128), 0, 9, jnp.int32),
    )
