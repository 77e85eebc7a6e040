# expect: numerics deadlock
# a gridded copy that waits on the other slot's semaphore

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_hbm, o_ref, buffers, sems):
    i = pl.program_id(0)
    slot = i % 2
    source = x_hbm.at[pl.ds(i * 8, 8), :]
    pltpu.make_async_copy(source, buffers.at[slot], sems.at[slot]).start()
    pltpu.make_async_copy(source, buffers.at[slot], sems.at[1 - slot]).wait()
    o_ref[...] = buffers[slot]


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((2, 8, 128), x.dtype), pltpu.SemaphoreType.DMA((2,))],
    )(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (32, 128), jnp.float32),)
