# expect: compile mosaic_layout
# a reshape to (64, 64)

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...].reshape(64, 64)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 64), x.dtype))(x)


def reference(x):
    return x.reshape(64, 64)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (32, 128), jnp.float32),)
