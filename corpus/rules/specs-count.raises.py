"""Two inputs and one in_spec."""

import jax.numpy as jnp
from jax.experimental import pallas as pl


def add_kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


def workload(x, y):
    spec = pl.BlockSpec((128, 512), lambda i: (i, 0))
    return pl.pallas_call(add_kernel, grid=(2,), in_specs=[spec], out_specs=spec, out_shape=x)(x, y)


def fixed(x, y):
    spec = pl.BlockSpec((128, 512), lambda i: (i, 0))
    return pl.pallas_call(add_kernel, grid=(2,), in_specs=[spec, spec], out_specs=spec, out_shape=x)(x, y)


def create_inputs():
    return (jnp.zeros((256, 512), jnp.float32), jnp.zeros((256, 512), jnp.float32))
