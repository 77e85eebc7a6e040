# expect: api api_name
# pl.cdiv is there, pl.zeros is not

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

BLOCK = 64


def kernel(x_ref, o_ref):
    acc = pl.zeros((BLOCK, 128), dtype=jnp.float32)
    o_ref[...] = acc + x_ref[...]


def workload(x):
    spec = pl.BlockSpec((BLOCK, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(x.shape[0], BLOCK),),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 128), jnp.float32),)
