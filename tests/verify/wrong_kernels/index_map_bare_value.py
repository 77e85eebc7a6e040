# expect: trace index_map
# row 5: `lambda i: i` for a 2-D block

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] - y_ref[...]


def workload(x, y):
    block = pl.BlockSpec(block_shape=(64, 128), index_map=lambda i: i)
    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(4,), in_specs=[block, block], out_specs=block
    )(x, y)


def reference(x, y):
    return x - y


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (256, 128), jnp.float32),
        jax.random.normal(keys[1], (256, 128), jnp.float32),
    )
