# expect: compile dma
# row 20: a copy from lane 64

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_hbm, o_ref, sem):
    copy = pltpu.make_async_copy(x_hbm.at[:, pl.ds(64, 128)], o_ref, sem)
    copy.start()
    copy.wait()


def workload(x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )(x)


def reference(x):
    return x[:, 64:192]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 512), jnp.float32),)
