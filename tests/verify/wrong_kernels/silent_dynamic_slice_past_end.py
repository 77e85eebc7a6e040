# expect: numerics out_of_bounds
# dynamic out-of-bounds: (i + 1) * bm

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    start = (pl.program_id(0) + 1) * 64
    o_ref[...] = x_ref[pl.ds(start, 64), :]


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((256, 128), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((64, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
