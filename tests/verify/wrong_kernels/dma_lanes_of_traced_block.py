# expect: compile dma
# row 20: a traced lane offset of unknown alignment

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_hbm, o_ref, sem):
    j = pl.program_id(0)
    pltpu.async_copy(x_hbm.at[:, pl.ds(j * 32, 128)], o_ref, sem).wait()


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(2,),
        in_specs=[pl.BlockSpec(memory_space=pltpu.HBM)],
        out_specs=pl.BlockSpec((64, 128), lambda j: (j, 0)),
        out_shape=jax.ShapeDtypeStruct((128, 128), x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )(x)


def reference(x):
    return jnp.concatenate([x[:, :128], x[:, 32:160]])


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 256), jnp.float32),)
