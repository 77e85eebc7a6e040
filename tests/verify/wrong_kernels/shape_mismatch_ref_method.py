# expect: trace shape_mismatch
# row 27: a method of an array called on a ref

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref.sum(axis=1, keepdims=True)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 1), x.dtype))(x)


def reference(x):
    return x.sum(axis=1, keepdims=True)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
