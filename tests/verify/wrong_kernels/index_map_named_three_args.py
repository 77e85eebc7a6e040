# expect: trace index_map
# row 6: a named index map with an argument too many

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def by_row(i, j, k):
    return i, j


def kernel(a_ref, b_ref, o_ref):
    o_ref[...] = a_ref[...] * b_ref[...]


def workload(a, b):
    return pl.pallas_call(
        kernel,
        grid=(2, 2),
        in_specs=[pl.BlockSpec((128, 128), by_row)] * 2,
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct(a.shape, a.dtype),
    )(a, b)


def reference(a, b):
    return a * b


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (256, 256), jnp.float32),
        jax.random.normal(keys[1], (256, 256), jnp.float32),
    )
