# expect: numerics out_of_bounds
# grid too long: rows and columns of the grid swapped

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.tanh(x_ref[...])


def workload(x):
    m, n = x.shape
    spec = pl.BlockSpec((64, 128), lambda i, j: (i, j))
    return pl.pallas_call(
        kernel,
        grid=(n // 128, m // 64),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def reference(x):
    return jnp.tanh(x)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 256), jnp.float32),)
