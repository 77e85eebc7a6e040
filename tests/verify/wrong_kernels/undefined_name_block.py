# expect: api undefined_name
# a block size that is defined nowhere

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(x):
    spec = pl.BlockSpec((BLOCK_ROWS, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(2,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)


def reference(x):
    return x * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 128), jnp.float32),)
