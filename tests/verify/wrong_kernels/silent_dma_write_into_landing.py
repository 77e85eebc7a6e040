# expect: numerics race
# the destination cleared while the copy arrives

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_hbm, o_ref, buffer, sem):
    copy = pltpu.async_copy(x_hbm, buffer, sem)
    buffer[...] = jnp.zeros_like(buffer)
    copy.wait()
    o_ref[...] = buffer[...] - 1.0


def workload(x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM(x.shape, x.dtype), pltpu.SemaphoreType.DMA],
    )(x)


def reference(x):
    return x - 1.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
