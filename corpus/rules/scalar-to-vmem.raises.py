"""A scalar stored to a vector-memory output."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[0, 0] = jnp.sum(x_ref[...])


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x)


def fixed(x):
    def broadcast(x_ref, o_ref):
        o_ref[...] = jnp.full(o_ref.shape, jnp.sum(x_ref[...]))

    return pl.pallas_call(broadcast, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x)


def create_inputs():
    return (jnp.zeros((256, 512), jnp.float32),)
