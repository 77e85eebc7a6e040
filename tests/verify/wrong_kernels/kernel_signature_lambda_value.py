# expect: trace kernel_signature
# row 28: a lambda for a kernel

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def workload(x, y):
    return pl.pallas_call(
        lambda x_ref, y_ref, o_ref: x_ref[...] * y_ref[...], out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x, y)


def reference(x, y):
    return x * y


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (64, 128), jnp.float32),
        jax.random.normal(keys[1], (64, 128), jnp.float32),
    )
