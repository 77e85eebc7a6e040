# expect: lower memory_space
# row 15: a vector stored to SMEM

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1


def workload(x):
    smem = pl.BlockSpec(memory_space=pltpu.SMEM)
    return pl.pallas_call(kernel, in_specs=[smem], out_specs=smem, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x + 1


def create_inputs(seed=0):
    return (jax.random.randint(jax.random.key(seed), (8,), 0, 9, jnp.int32),)
