# expect: trace memory_space
# row 37: a scratch shape as ShapeDtypeStruct

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref, acc_ref):
    acc_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)
    o_ref[...] = acc_ref[...].astype(o_ref.dtype)


def workload(x, y):
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((128, 128), jnp.bfloat16),
        scratch_shapes=[jax.ShapeDtypeStruct((128, 128), jnp.float32)],
    )(x, y)


def reference(x, y):
    return jnp.dot(x, y, preferred_element_type=jnp.float32).astype(jnp.bfloat16)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (128, 128)).astype(jnp.bfloat16),
        jax.random.normal(keys[1], (128, 128)).astype(jnp.bfloat16),
    )
