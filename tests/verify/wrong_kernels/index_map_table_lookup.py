# expect: trace index_map
# row 8: an index map that reads a captured input

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def workload(x, order):
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((64, 128), lambda i: (order[i], 0))],
        out_specs=pl.BlockSpec((64, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def reference(x, order):
    return x.reshape(4, 64, 128)[order].reshape(256, 128)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (256, 128), jnp.float32),
        jax.random.randint(keys[1], (4,), 0, 4, jnp.int32),
    )
