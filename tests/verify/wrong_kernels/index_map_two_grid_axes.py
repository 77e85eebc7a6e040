# expect: trace index_map
# row 6: one argument with a grid of two

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 3.0


def workload(x):
    spec = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(4, 2), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)


def reference(x):
    return x * 3.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 256), jnp.float32),)
