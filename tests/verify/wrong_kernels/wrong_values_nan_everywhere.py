# expect: numerics wrong_values
# zero times infinity in a mask

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...]
    mask = (jax.lax.broadcasted_iota(jnp.int32, x.shape, 1) < 100).astype(jnp.float32)
    o_ref[...] = x + (1.0 - mask) * -jnp.inf


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return jnp.where(jnp.arange(128) < 100, x, -jnp.inf)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
