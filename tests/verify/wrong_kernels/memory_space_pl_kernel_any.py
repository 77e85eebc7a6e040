# expect: lower memory_space
# row 16: a pl.kernel that computes on HBM

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def workload(x):
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)

    @pl.kernel(out_type=jax.ShapeDtypeStruct(x.shape, x.dtype), mesh=mesh)
    def double(x_hbm, o_hbm):
        o_hbm[...] = x_hbm[...] * 2.0

    return double(x)


def reference(x):
    return x * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
