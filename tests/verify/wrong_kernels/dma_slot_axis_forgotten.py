# expect: lower dma
# row 38: a chunk copied into both slots of a double buffer

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_hbm, o_ref, buffers, sems):
    for c in range(2):
        copy = pltpu.make_async_copy(x_hbm.at[pl.ds(c * 64, 64), :], buffers, sems.at[c])
        copy.start()
        copy.wait()
    o_ref[...] = buffers[0] + buffers[1]


def workload(x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype),
        scratch_shapes=[pltpu.VMEM((2, 64, 128), jnp.float32), pltpu.SemaphoreType.DMA((2,))],
    )(x)


def reference(x):
    return x[:64] + x[64:]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 128), jnp.float32),)
