# expect: lower unsupported_primitive
# top_k

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    values, _ = jax.lax.top_k(x_ref[...], 8)
    o_ref[...] = jnp.broadcast_to(jnp.sum(values, axis=1, keepdims=True), o_ref.shape)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return jnp.broadcast_to(jnp.sum(jax.lax.top_k(x, 8)[0], axis=1, keepdims=True), x.shape)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
