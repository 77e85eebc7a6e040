# expect: compile mosaic_layout
# heads of 32 lanes turned into rows

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...].reshape(256, 32)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((256, 32), x.dtype))(x)


def reference(x):
    return x.reshape(256, 32)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
