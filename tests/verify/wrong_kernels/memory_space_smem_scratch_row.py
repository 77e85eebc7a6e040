# expect: lower memory_space
# row 15: a row kept in an SMEM scratch

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, row_ref):
    row_ref[...] = jnp.max(x_ref[...], axis=1)
    o_ref[...] = x_ref[...] - row_ref[0]


def workload(x):
    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), scratch_shapes=[pltpu.SMEM((8,), jnp.float32)]
    )(x)


def reference(x):
    return x - jnp.max(x[0])


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (8, 128), jnp.float32),)
