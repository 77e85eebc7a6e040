# expect: lower dma
# row 38: bfloat16 copied into a float32 buffer

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_hbm, o_ref, buffer, sem):
    pltpu.async_copy(x_hbm, buffer, sem).wait()
    o_ref[...] = buffer[...] * 0.5


def workload(x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct(x.shape, jnp.float32),
        scratch_shapes=[pltpu.VMEM(x.shape, jnp.float32), pltpu.SemaphoreType.DMA],
    )(x)


def reference(x):
    return x.astype(jnp.float32) * 0.5


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128)).astype(jnp.bfloat16),)
