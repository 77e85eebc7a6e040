# expect: trace index_map
# row 5: a batch index left over

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def out_map(b, i):
    return (b, i, 0)


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.maximum(x_ref[...], 0.0)


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(1, 4),
        in_specs=[pl.BlockSpec((64, 128), lambda b, i: (i, 0))],
        out_specs=pl.BlockSpec((64, 128), out_map),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def reference(x):
    return jnp.maximum(x, 0.0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
