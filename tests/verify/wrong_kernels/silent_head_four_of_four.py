# expect: numerics out_of_bounds
# a static index of a head that is not there

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[0, :, :] + x_ref[4, :, :]


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape[1:], x.dtype))(x)


def reference(x):
    return x[0] + x[3]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (4, 64, 128), jnp.float32),)
