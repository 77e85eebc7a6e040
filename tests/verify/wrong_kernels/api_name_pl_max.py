# expect: api api_name
# pl.max and pl.exp

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...]
    m = pl.max(x, axis=1)
    o_ref[...] = pl.exp(x - m[:, None])


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return jnp.exp(x - jnp.max(x, axis=1, keepdims=True))


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
