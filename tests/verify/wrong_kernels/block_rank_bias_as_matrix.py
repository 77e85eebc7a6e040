# expect: trace block_rank
# row 4: a (1, n) block for a 1-D bias

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, b_ref, o_ref):
    o_ref[...] = x_ref[...] + b_ref[...]


def workload(x, b):
    m, n = x.shape
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid_spec=pl.GridSpec(
            grid=(m // 64,),
            in_specs=[pl.BlockSpec((64, n), lambda i: (i, 0)), pl.BlockSpec((1, n), lambda i: (0, 0))],
            out_specs=pl.BlockSpec((64, n), lambda i: (i, 0)),
        ),
    )(x, b)


def reference(x, b):
    return x + b


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (256, 128), jnp.float32),
        jax.random.normal(keys[1], (128,), jnp.float32),
    )
