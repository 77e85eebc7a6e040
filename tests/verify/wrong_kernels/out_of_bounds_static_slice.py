# expect: trace out_of_bounds
# row 24: a static slice past the end

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[pl.ds(16, 8), :]


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)


def reference(x):
    return x[8:]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (16, 128), jnp.float32),)
