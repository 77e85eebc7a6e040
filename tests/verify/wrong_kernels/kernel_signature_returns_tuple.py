# expect: trace kernel_signature
# row 28: a gridded kernel that returns a pair

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, lo_ref, hi_ref):
    lo = jnp.min(x_ref[...], axis=1, keepdims=True)
    hi = jnp.max(x_ref[...], axis=1, keepdims=True)
    lo_ref[...], hi_ref[...] = lo, hi
    return lo, hi


def workload(x):
    column = pl.BlockSpec((64, 1), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((64, 128), lambda i: (i, 0))],
        out_specs=(column, column),
        out_shape=(jax.ShapeDtypeStruct((256, 1), x.dtype),) * 2,
    )(x)


def reference(x):
    return (jnp.min(x, axis=1, keepdims=True), jnp.max(x, axis=1, keepdims=True))


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
