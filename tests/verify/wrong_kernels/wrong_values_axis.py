# expect: numerics wrong_values
# a softmax along the wrong axis

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...]
    e = jnp.exp(x - jnp.max(x, axis=0, keepdims=True))
    o_ref[...] = e / jnp.sum(e, axis=0, keepdims=True)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return jax.nn.softmax(x, axis=-1)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 128), jnp.float32),)
