# expect: trace api_name
# a method that arrays do not have

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, b_ref, o_ref):
    o_ref[...] = x_ref[...] + b_ref[...].unsqueeze(0)


def workload(x, b):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, b)


def reference(x, b):
    return x + b


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (64, 128), jnp.float32),
        jax.random.normal(keys[1], (128,), jnp.float32),
    )
