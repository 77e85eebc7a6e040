# expect: compile block_shape
# row 3: an int8 operand in blocks of 16 rows

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.int32)


def workload(x, y):
    m, k = x.shape
    n = y.shape[1]
    return pl.pallas_call(
        kernel,
        grid=(m // 16,),
        in_specs=[pl.BlockSpec((16, k), lambda i: (i, 0)), pl.BlockSpec((k, n), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((16, n), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.int32),
    )(x, y)


def reference(x, y):
    return jnp.dot(x, y, preferred_element_type=jnp.int32)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (128, 128), -99, 99, jnp.int32).astype(jnp.int8),
        jax.random.randint(keys[1], (128, 128), -99, 99, jnp.int32).astype(jnp.int8),
    )
