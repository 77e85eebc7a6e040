# expect: lower unsupported_primitive
# reduce_window in a pooling kernel

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jax.lax.reduce_window(x_ref[...], -jnp.inf, jax.lax.max, (2, 1), (1, 1), "SAME")


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 1), (1, 1), "SAME")


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
