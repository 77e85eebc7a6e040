"""pl.load with an index tuple."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    pl.store(o_ref, (pl.ds(0, 8), slice(None)), pl.load(x_ref, (pl.ds(0, 8), slice(None))))


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 512), jnp.float32))(x)


def fixed(x):
    def index(x_ref, o_ref):
        o_ref[pl.ds(0, 8), :] = x_ref[pl.ds(0, 8), :]

    return pl.pallas_call(index, out_shape=jax.ShapeDtypeStruct((8, 512), jnp.float32))(x)


def create_inputs():
    return (jnp.zeros((256, 512), jnp.float32),)
