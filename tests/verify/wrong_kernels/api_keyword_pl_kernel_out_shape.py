# expect: api api_keyword
# pl.kernel(out_shape=)

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def workload(x):
    mesh = pltpu.create_tensorcore_mesh("core")

    @pl.kernel(out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), mesh=mesh)
    def run(x_ref, o_ref):
        pltpu.sync_copy(x_ref, o_ref)

    return run(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
