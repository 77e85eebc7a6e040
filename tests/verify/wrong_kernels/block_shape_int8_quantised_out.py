# expect: compile block_shape
# row 3: an int8 output in blocks of 8 rows

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def quantise(x_ref, o_ref):
    o_ref[...] = jnp.clip(jnp.round(x_ref[...] * 16.0), -127, 127).astype(jnp.int8)


def workload(x):
    rows, n = x.shape
    return pl.pallas_call(
        quantise,
        grid=(rows // 8,),
        in_specs=[pl.BlockSpec((8, n), lambda r: (r, 0))],
        out_specs=pl.BlockSpec((8, n), lambda r: (r, 0)),
        out_shape=jax.ShapeDtypeStruct((rows, n), jnp.int8),
    )(x)


def reference(x):
    return jnp.clip(jnp.round(x * 16.0), -127, 127).astype(jnp.int8)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 256), jnp.float32),)
