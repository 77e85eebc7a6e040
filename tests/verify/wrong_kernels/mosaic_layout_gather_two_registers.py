# expect: compile mosaic_layout
# take_along_axis over more than one register

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, i_ref, o_ref):
    o_ref[...] = jnp.take_along_axis(x_ref[...], i_ref[...], axis=0)


def workload(x, i):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, i)


def reference(x, i):
    return jnp.take_along_axis(x, i, axis=0)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (64, 128), jnp.float32),
        jax.random.randint(keys[1], (64, 128), 0, 64, jnp.int32),
    )
