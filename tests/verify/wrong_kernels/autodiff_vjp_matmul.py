# expect: trace autodiff
# row 41: vjp of a matmul kernel

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, w_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], w_ref[...], preferred_element_type=jnp.float32)


def matmul(x, w):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((x.shape[0], w.shape[1]), jnp.float32))(x, w)


def workload(x, w, g):
    _, pullback = jax.vjp(matmul, x, w)
    return pullback(g)


def reference(x, w, g):
    return (g @ w.T, x.T @ g)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 3)
    return (
        jax.random.normal(keys[0], (128, 128), jnp.float32),
        jax.random.normal(keys[1], (128, 128), jnp.float32),
        jax.random.normal(keys[2], (128, 128), jnp.float32),
    )
