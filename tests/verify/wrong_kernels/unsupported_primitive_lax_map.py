# expect: lower unsupported_primitive
# lax.map over rows

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jax.lax.map(lambda row: row / jnp.sum(row), x_ref[...])


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x / jnp.sum(x, axis=1, keepdims=True)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
