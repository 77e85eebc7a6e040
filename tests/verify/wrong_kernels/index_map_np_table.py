# expect: trace index_map
# row 8: an index map that reads a NumPy table

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

TABLE = np.array([3, 2, 1, 0], np.int32)


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((64, 128), lambda i: (jnp.asarray(TABLE)[i], 0))],
        out_specs=pl.BlockSpec((64, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def reference(x):
    return x.reshape(4, 64, 128)[::-1].reshape(256, 128)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
