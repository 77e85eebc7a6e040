# expect: lower block_shape
# row 2: a 1-D block of 128 bfloat16

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, bias_ref, o_ref):
    o_ref[...] = jnp.maximum(x_ref[...] + bias_ref[...], 0)


def workload(x, bias):
    return pl.pallas_call(
        kernel,
        grid=(x.shape[0] // 128,),
        in_specs=[pl.BlockSpec((128,), lambda i: (i,)), pl.BlockSpec((128,), lambda i: (i,))],
        out_specs=pl.BlockSpec((128,), lambda i: (i,)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, bias)


def reference(x, bias):
    return jnp.maximum(x + bias, 0)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (2048,)).astype(jnp.bfloat16),
        jax.random.normal(keys[1], (2048,)).astype(jnp.bfloat16),
    )
