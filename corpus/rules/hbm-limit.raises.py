"""A program whose intermediate alone is larger than device memory."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def workload(x):
    spec = pl.BlockSpec((512, 4096), lambda i, j: (i, j))
    scores = (x[:, None] * x[None, :]).reshape(131072, 131072)
    return pl.pallas_call(copy_kernel, grid=(256, 32), in_specs=[spec], out_specs=spec, out_shape=scores)(scores)


def fixed(x):
    def outer_row_sums(row_ref, all_ref, o_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += jnp.sum(row_ref[...] * all_ref[...], axis=1, keepdims=True)

    return pl.pallas_call(
        outer_row_sums,
        grid=(256, 32),
        in_specs=[pl.BlockSpec((512, 1), lambda i, j: (i, 0)), pl.BlockSpec((1, 4096), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((512, 1), lambda i, j: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((x.shape[0], 1), x.dtype),
    )(x[:, None], x[None, :])


def create_inputs():
    return (jnp.zeros(131072, jnp.float32),)
