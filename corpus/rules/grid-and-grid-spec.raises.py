"""A grid given beside a grid spec."""

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def gather_kernel(starts_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...]


spec = pl.BlockSpec((8, 512), lambda i, starts: (starts[i], 0))
out_spec = pl.BlockSpec((8, 512), lambda i, starts: (i, 0))


def workload(starts, x):
    return pl.pallas_call(
        gather_kernel,
        grid=(2,),
        grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, in_specs=[spec], out_specs=out_spec),
        out_shape=x,
    )(starts, x)


def fixed(starts, x):
    return pl.pallas_call(
        gather_kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(2,), in_specs=[spec], out_specs=out_spec),
        out_shape=x,
    )(starts, x)


def create_inputs():
    return (jnp.zeros((2,), jnp.int32), jnp.zeros((16, 512), jnp.float32))
