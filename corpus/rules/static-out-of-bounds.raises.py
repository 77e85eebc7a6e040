"""A slice past the end of its block."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[pl.ds(16, 8), :]


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 512), jnp.float32))(x)


def fixed(x):
    def inside(x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(8, 8), :]

    return pl.pallas_call(inside, out_shape=jax.ShapeDtypeStruct((8, 512), jnp.float32))(x)


def create_inputs():
    return (jnp.zeros((16, 512), jnp.float32),)
