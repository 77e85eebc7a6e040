"""A bfloat16 dot that leaves its accumulator in bfloat16."""

import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...])


def workload(x, y):
    return pl.pallas_call(kernel, out_shape=x)(x, y)


def fixed(x, y):
    def accumulate(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(o_ref.dtype)

    return pl.pallas_call(accumulate, out_shape=x)(x, y)


def create_inputs():
    return (jnp.zeros((256, 256), jnp.bfloat16), jnp.zeros((256, 256), jnp.bfloat16))
