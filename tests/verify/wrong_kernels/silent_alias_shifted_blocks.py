# expect: numerics wrong_values
# aliased overlap: each block written where the next is read

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: ((i + 1) % 4, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        input_output_aliases={0: 0},
    )(x)


def reference(x):
    return jnp.roll(x, 8, axis=0) * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (32, 128), jnp.float32),)
