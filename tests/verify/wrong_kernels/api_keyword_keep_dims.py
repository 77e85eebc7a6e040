# expect: api api_keyword
# keep_dims= for keepdims=

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.sum(x_ref[...], axis=1, keep_dims=True)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 1), x.dtype))(x)


def reference(x):
    return jnp.sum(x, axis=1, keepdims=True)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
