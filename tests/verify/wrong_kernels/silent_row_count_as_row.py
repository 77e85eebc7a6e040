# expect: numerics out_of_bounds
# the last row addressed by the number of rows

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    rows = x_ref.shape[0]
    o_ref[...] = x_ref[...] - x_ref[rows, :]


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x - x[-1]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (16, 128), jnp.float32),)
