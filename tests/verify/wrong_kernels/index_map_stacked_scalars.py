# expect: trace index_map
# row 8: Python numbers stacked into a table inside the index map

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def source_block(i):
    return jnp.array([2, 0, 3, 1])[i], 0


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((64, 128), source_block)],
        out_specs=pl.BlockSpec((64, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def reference(x):
    return x.reshape(4, 64, 128)[jnp.array([2, 0, 3, 1])].reshape(256, 128) * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
