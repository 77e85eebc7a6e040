# expect: api api_keyword
# num_warps, as on a GPU

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.maximum(x_ref[...], 0.0)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), num_warps=4, num_stages=2)(x)


def reference(x):
    return jnp.maximum(x, 0.0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
