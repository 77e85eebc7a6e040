"""A loop whose carry starts as bfloat16 and becomes float32."""

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    start = jnp.zeros((8, 128), jnp.bfloat16)
    o_ref[...] = lax.fori_loop(0, 4, lambda i, total: total + x_ref[...], start)


def workload(x):
    return pl.pallas_call(kernel, out_shape=x)(x)


def fixed(x):
    def same_dtype(x_ref, o_ref):
        start = jnp.zeros((8, 128), jnp.float32)
        o_ref[...] = lax.fori_loop(0, 4, lambda i, total: total + x_ref[...], start)

    return pl.pallas_call(same_dtype, out_shape=x)(x)


def create_inputs():
    return (jnp.zeros((8, 128), jnp.float32),)
