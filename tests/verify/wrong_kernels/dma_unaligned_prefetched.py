# expect: compile dma
# row 20: a lane offset read from SMEM

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(at_ref, x_hbm, o_ref, buffer, sem):
    copy = pltpu.make_async_copy(x_hbm.at[:, pl.ds(at_ref[0], 128)], buffer, sem)
    copy.start()
    copy.wait()
    o_ref[...] = buffer[...] * 2.0


def workload(at, x):
    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(1,),
            in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            out_specs=pl.BlockSpec((8, 128), lambda i, at: (0, 0)),
            scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA(())],
        ),
        out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),
    )(at, x)


def reference(at, x):
    return jax.lax.dynamic_slice(x, (0, at[0]), (8, 128)) * 2.0


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (1,), 0, 20, jnp.int32),
        jax.random.normal(keys[1], (8, 512), jnp.float32),
    )
