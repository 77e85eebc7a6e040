# expect: trace shape_store
# row 13: a row mean without keepdims

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.mean(x_ref[...], axis=1)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((x.shape[0], 1), x.dtype))(x)


def reference(x):
    return jnp.mean(x, axis=1, keepdims=True)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 128), jnp.float32),)
