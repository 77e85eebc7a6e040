"""Rank-1 blocks of 64 elements."""

import jax.numpy as jnp
from jax.experimental import pallas as pl


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def workload(x):
    spec = pl.BlockSpec((64,), lambda i: (i,))
    return pl.pallas_call(copy_kernel, grid=(16,), in_specs=[spec], out_specs=spec, out_shape=x)(x)


def fixed(x):
    spec = pl.BlockSpec((128,), lambda i: (i,))
    return pl.pallas_call(copy_kernel, grid=(8,), in_specs=[spec], out_specs=spec, out_shape=x)(x)


def create_inputs():
    return (jnp.zeros(1024, jnp.float32),)
