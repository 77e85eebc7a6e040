"""Python's range over a count that is only known at run time."""

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(n_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...]
    for _ in range(n_ref[0]):
        o_ref[...] = o_ref[...] * 2.0


def workload(n, x):
    smem = pl.BlockSpec(memory_space=pltpu.SMEM)
    return pl.pallas_call(kernel, in_specs=[smem, pl.BlockSpec()], out_shape=x)(n, x)


def fixed(n, x):
    def with_loop(n_ref, x_ref, o_ref):
        o_ref[...] = lax.fori_loop(0, n_ref[0], lambda _, value: value * 2.0, x_ref[...])

    smem = pl.BlockSpec(memory_space=pltpu.SMEM)
    return pl.pallas_call(with_loop, in_specs=[smem, pl.BlockSpec()], out_shape=x)(n, x)


def create_inputs():
    return (jnp.zeros((1,), jnp.int32), jnp.zeros((8, 128), jnp.float32))
