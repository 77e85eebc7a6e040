# expect: compile mosaic_layout
# row 19: even and odd lanes for a rotary embedding

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def rope_kernel(x_ref, cos_ref, sin_ref, even_ref, odd_ref):
    a = x_ref[:, pl.ds(0, 128, 2)]
    b = x_ref[:, pl.ds(1, 128, 2)]
    even_ref[...] = a * cos_ref[...] - b * sin_ref[...]
    odd_ref[...] = a * sin_ref[...] + b * cos_ref[...]


def workload(x, cos, sin):
    half = jax.ShapeDtypeStruct((64, 128), x.dtype)
    return pl.pallas_call(rope_kernel, out_shape=(half, half))(x, cos, sin)


def reference(x, cos, sin):
    return (x[:, ::2] * cos - x[:, 1::2] * sin, x[:, ::2] * sin + x[:, 1::2] * cos)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 3)
    return (
        jax.random.normal(keys[0], (64, 256), jnp.float32),
        jax.random.normal(keys[1], (64, 128), jnp.float32),
        jax.random.normal(keys[2], (64, 128), jnp.float32),
    )
