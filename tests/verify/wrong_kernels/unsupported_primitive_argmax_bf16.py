# expect: lower unsupported_primitive
# argmax of bfloat16

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.argmax(x_ref[...], axis=1, keepdims=True).astype(jnp.int32)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 1), jnp.int32))(x)


def reference(x):
    return jnp.argmax(x, axis=1, keepdims=True).astype(jnp.int32)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128)).astype(jnp.bfloat16),)
