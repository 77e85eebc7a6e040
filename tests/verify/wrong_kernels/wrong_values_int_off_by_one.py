# expect: numerics wrong_values
# an integer index that starts at one

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    row = 1 + jax.lax.broadcasted_iota(jnp.int32, x_ref.shape, 0)
    o_ref[...] = x_ref[...] + row


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x + jnp.arange(64, dtype=jnp.int32)[:, None]


def create_inputs(seed=0):
    return (jax.random.randint(jax.random.key(seed), (64, 128), 0, 99, jnp.int32),)
