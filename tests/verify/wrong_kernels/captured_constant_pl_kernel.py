# expect: trace captured_constant
# row 25: an array captured by a pl.kernel

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def workload(x):
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)
    weights = jnp.arange(128, dtype=jnp.float32)

    @pl.kernel(
        out_type=jax.ShapeDtypeStruct(x.shape, x.dtype),
        mesh=mesh,
        scratch_types=[pltpu.VMEM(x.shape, x.dtype)],
    )
    def scale(x_hbm, o_hbm, buffer):
        pltpu.sync_copy(x_hbm, buffer)
        buffer[...] = buffer[...] * weights
        pltpu.sync_copy(buffer, o_hbm)

    return scale(x)


def reference(x):
    return x * jnp.arange(128, dtype=jnp.float32)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
