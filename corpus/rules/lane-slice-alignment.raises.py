"""A lane slice that starts at a run-time offset."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(n_ref, x_ref, o_ref):
    o_ref[...] = x_ref[:, pl.ds(n_ref[0], 128)]


def workload(n, x):
    smem = pl.BlockSpec(memory_space=pltpu.SMEM)
    out = jax.ShapeDtypeStruct((256, 128), jnp.float32)
    return pl.pallas_call(kernel, in_specs=[smem, pl.BlockSpec()], out_shape=out)(n, x)


def fixed(n, x):
    def aligned(n_ref, x_ref, o_ref):
        start = pl.multiple_of(n_ref[0] * 128, 128)
        o_ref[...] = x_ref[:, pl.ds(start, 128)]

    smem = pl.BlockSpec(memory_space=pltpu.SMEM)
    out = jax.ShapeDtypeStruct((256, 128), jnp.float32)
    return pl.pallas_call(aligned, in_specs=[smem, pl.BlockSpec()], out_shape=out)(n, x)


def create_inputs():
    return (jnp.zeros((1,), jnp.int32), jnp.zeros((256, 512), jnp.float32))
