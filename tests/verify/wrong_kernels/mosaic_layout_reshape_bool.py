# expect: compile mosaic_layout
# a reshape of a mask into lanes

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    mask = (x_ref[...] > 0.0).reshape(8, 1024)
    o_ref[...] = jnp.where(mask, 1.0, 0.0)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 1024), x.dtype))(x)


def reference(x):
    return (x > 0.0).reshape(8, 1024).astype(x.dtype)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
