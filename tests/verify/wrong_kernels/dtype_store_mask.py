# expect: trace dtype_store
# row 12: a comparison stored into int8

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] > 0.0


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, jnp.int8))(x)


def reference(x):
    return (x > 0.0).astype(jnp.int8)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 128), jnp.float32),)
