# expect: numerics uninitialized
# += into an output block never cleared

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] += jnp.sum(x_ref[...], axis=0, keepdims=True)


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((64, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((1, 128), lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((1, 128), x.dtype),
    )(x)


def reference(x):
    return jnp.sum(x, axis=0, keepdims=True)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)


TOLERANCE = (1e-3, 1e-3)
