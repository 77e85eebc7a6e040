# expect: lower unsupported_primitive
# interior padding

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jax.lax.pad(x_ref[...], 0.0, ((0, 1, 1), (0, 0, 0)))


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((128, 128), x.dtype))(x)


def reference(x):
    return jax.lax.pad(x, 0.0, ((0, 1, 1), (0, 0, 0)))


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
