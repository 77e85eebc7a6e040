"""A reduced value stored without its kept dimension."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.sum(x_ref[...], axis=1)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((256, 1), jnp.float32))(x)


def fixed(x):
    def keep(x_ref, o_ref):
        o_ref[...] = jnp.sum(x_ref[...], axis=1, keepdims=True)

    return pl.pallas_call(keep, out_shape=jax.ShapeDtypeStruct((256, 1), jnp.float32))(x)


def create_inputs():
    return (jnp.zeros((256, 512), jnp.float32),)
