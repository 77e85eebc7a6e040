# expect: numerics wrong_values
# a revisited output block: the reduction axis first in the grid

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.sum(x_ref[...], axis=0, keepdims=True)


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(4, 2),
        in_specs=[pl.BlockSpec((64, 128), lambda k, j: (k, j))],
        out_specs=pl.BlockSpec((1, 128), lambda k, j: (0, j)),
        out_shape=jax.ShapeDtypeStruct((1, 256), x.dtype),
    )(x)


def reference(x):
    return jnp.sum(x, axis=0, keepdims=True)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 256), jnp.float32),)


TOLERANCE = (1e-3, 1e-3)
