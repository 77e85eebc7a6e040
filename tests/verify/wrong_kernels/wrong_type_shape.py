# expect: trace wrong_type
# a kept axis that the workload drops

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.max(x_ref[...], axis=1, keepdims=True)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 1), x.dtype))(x)


def reference(x):
    return jnp.max(x, axis=1)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
