# expect: lower accumulator_dtype
# row 32: an int8 dot with an int8 result

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.matmul(x_ref[...], y_ref[...]).astype(jnp.int32)


def workload(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.int32))(x, y)


def reference(x, y):
    return jnp.matmul(x, y).astype(jnp.int32)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (128, 128), -99, 99, jnp.int32).astype(jnp.int8),
        jax.random.randint(keys[1], (128, 128), -99, 99, jnp.int32).astype(jnp.int8),
    )
