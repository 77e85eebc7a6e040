# expect: lower dma
# row 38: source and destination of different shape

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_hbm, o_ref, buffer, sem):
    copy = pltpu.make_async_copy(x_hbm.at[pl.ds(0, 32)], buffer, sem)
    copy.start()
    copy.wait()
    o_ref[...] = buffer[...]


def workload(x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype),
        scratch_shapes=[pltpu.VMEM((64, 128), jnp.float32), pltpu.SemaphoreType.DMA],
    )(x)


def reference(x):
    return x[:64]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
