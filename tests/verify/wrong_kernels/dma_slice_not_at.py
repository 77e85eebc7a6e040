# expect: trace dma
# row 39: x[...] instead of x.at[...] as the source

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_hbm, o_ref, sem):
    pltpu.async_copy(x_hbm[pl.ds(0, 64), :], o_ref, sem).wait()


def workload(x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )(x)


def reference(x):
    return x[:64]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
