# expect: lower block_shape
# row 1: a (1, 1) block for a row sum

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.sum(x_ref[...]).reshape(1, 1)


def workload(x):
    b = x.shape[0] // 8
    out = pl.pallas_call(
        kernel,
        grid=(b,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((1, 1), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((b, 1), jnp.float32),
    )(x)
    return out[:, 0]


def reference(x):
    return jnp.sum(x.reshape(-1, 8 * 128), axis=1)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
