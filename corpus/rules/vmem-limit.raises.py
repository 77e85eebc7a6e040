"""Blocks that need 36 MiB where the default limit is 32 MiB."""

import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32).astype(o_ref.dtype)


def workload(x, y):
    return pl.pallas_call(
        kernel,
        grid=(4, 4),
        in_specs=[pl.BlockSpec((1024, 4096), lambda i, j: (i, 0)), pl.BlockSpec((4096, 1024), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((1024, 1024), lambda i, j: (i, j)),
        out_shape=x,
    )(x, y)


def fixed(x, y):
    return pl.pallas_call(
        kernel,
        grid=(8, 8),
        in_specs=[pl.BlockSpec((512, 4096), lambda i, j: (i, 0)), pl.BlockSpec((4096, 512), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((512, 512), lambda i, j: (i, j)),
        out_shape=x,
    )(x, y)


def create_inputs():
    return (jnp.zeros((4096, 4096), jnp.bfloat16), jnp.zeros((4096, 4096), jnp.bfloat16))
