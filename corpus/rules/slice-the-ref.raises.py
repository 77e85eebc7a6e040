"""A traced slice of a value instead of its reference."""

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = lax.dynamic_slice_in_dim(x, pl.program_id(0) * 8, 8, axis=0)


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(32,),
        in_specs=[pl.BlockSpec((256, 512), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((8, 512), lambda i: (i, 0)),
        out_shape=x,
    )(x)


def fixed(x):
    def slice_reference(x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(pl.program_id(0) * 8, 8), :]

    return pl.pallas_call(
        slice_reference,
        grid=(32,),
        in_specs=[pl.BlockSpec((256, 512), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((8, 512), lambda i: (i, 0)),
        out_shape=x,
    )(x)


def create_inputs():
    return (jnp.zeros((256, 512), jnp.float32),)
