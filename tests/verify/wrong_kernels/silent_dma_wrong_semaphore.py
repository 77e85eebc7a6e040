# expect: numerics deadlock
# a wait on a semaphore that no copy signals

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_hbm, o_ref, sems):
    pltpu.make_async_copy(x_hbm, o_ref, sems.at[0]).start()
    pltpu.make_async_copy(x_hbm, o_ref, sems.at[1]).wait()


def workload(x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.DMA((2,))],
    )(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
