# expect: compile unsupported_primitive
# int8 addition

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


def workload(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)


def reference(x, y):
    return x + y


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (64, 128), -99, 99, jnp.int32).astype(jnp.int8),
        jax.random.randint(keys[1], (64, 128), -99, 99, jnp.int32).astype(jnp.int8),
    )
