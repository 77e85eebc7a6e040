# expect: api api_name
# pltpu.repeat

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref):
    o_ref[...] = pltpu.repeat(x_ref[...], 2, axis=0)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((128, 128), x.dtype))(x)


def reference(x):
    return jnp.tile(x, (2, 1))


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
