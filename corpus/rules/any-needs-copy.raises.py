"""A load from an array left in pl.ANY."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[pl.ds(0, 8), :]


def workload(x):
    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(kernel, in_specs=[anywhere], out_shape=jax.ShapeDtypeStruct((8, 512), jnp.float32))(x)


def fixed(x):
    def copy(x_ref, o_ref, buffer, arrived):
        copy_rows = pltpu.make_async_copy(x_ref.at[pl.ds(0, 8), :], buffer, arrived)
        copy_rows.start()
        copy_rows.wait()
        o_ref[...] = buffer[...]

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        copy,
        in_specs=[anywhere],
        out_shape=jax.ShapeDtypeStruct((8, 512), jnp.float32),
        scratch_shapes=[pltpu.VMEM((8, 512), jnp.float32), pltpu.SemaphoreType.DMA],
    )(x)


def create_inputs():
    return (jnp.zeros((256, 512), jnp.float32),)
