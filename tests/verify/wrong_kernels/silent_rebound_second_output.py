# expect: numerics uninitialized
# the second of two outputs rebound

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, max_ref, sum_ref):
    x = x_ref[...]
    max_ref[...] = jnp.max(x, axis=1, keepdims=True)
    sum_ref = jnp.sum(x, axis=1, keepdims=True)


def workload(x):
    column = jax.ShapeDtypeStruct((x.shape[0], 1), x.dtype)
    return pl.pallas_call(kernel, out_shape=(column, column))(x)


def reference(x):
    return (jnp.max(x, axis=1, keepdims=True), jnp.sum(x, axis=1, keepdims=True))


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
