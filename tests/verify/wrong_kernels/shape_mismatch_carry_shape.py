# expect: trace shape_mismatch
# row 29: a running maximum that loses its axis

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    def body(i, best):
        return jnp.maximum(best, x_ref[pl.ds(i * 8, 8), :]).max(axis=0)

    o_ref[...] = jax.lax.fori_loop(0, 8, body, jnp.full((8, 128), -jnp.inf)).max(axis=0, keepdims=True)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((1, 128), x.dtype))(x)


def reference(x):
    return x.max(axis=0, keepdims=True)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
