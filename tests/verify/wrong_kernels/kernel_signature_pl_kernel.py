# expect: trace kernel_signature
# row 10: a pl.kernel that does not take its scratch

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def workload(x):
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)

    @pl.kernel(
        out_type=jax.ShapeDtypeStruct(x.shape, x.dtype),
        mesh=mesh,
        scratch_types=[pltpu.VMEM(x.shape, x.dtype)],
    )
    def run(x_hbm, o_hbm):
        pltpu.sync_copy(x_hbm, o_hbm)

    return run(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
