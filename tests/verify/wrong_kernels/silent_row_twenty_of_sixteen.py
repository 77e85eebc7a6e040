# expect: numerics out_of_bounds
# x[20, :] of 16 rows

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.broadcast_to(x_ref[20, :][None, :], (8, 128))


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)


def reference(x):
    return jnp.broadcast_to(x[15][None, :], (8, 128))


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (16, 128), jnp.float32),)
