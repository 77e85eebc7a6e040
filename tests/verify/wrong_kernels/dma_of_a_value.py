# expect: trace dma
# row 39: a copy of a loaded value

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_hbm, sem):
    doubled = x_ref[...] * 2.0
    copy = pltpu.make_async_copy(doubled, o_hbm, sem)
    copy.start()
    copy.wait()


def workload(x):
    return pl.pallas_call(
        kernel,
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )(x)


def reference(x):
    return x * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
