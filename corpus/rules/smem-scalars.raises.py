"""A whole scalar-memory table read as a vector."""

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(s_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] * s_ref[...]


def workload(s, x):
    smem = pl.BlockSpec(memory_space=pltpu.SMEM)
    return pl.pallas_call(kernel, in_specs=[smem, pl.BlockSpec()], out_shape=x)(s, x)


def fixed(s, x):
    def scalar(s_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * s_ref[0, 0]

    smem = pl.BlockSpec(memory_space=pltpu.SMEM)
    return pl.pallas_call(scalar, in_specs=[smem, pl.BlockSpec()], out_shape=x)(s, x)


def create_inputs():
    return (jnp.zeros((8, 128), jnp.float32), jnp.zeros((8, 128), jnp.float32))
