# expect: numerics uninitialized
# grid too short: m // bm of a ragged m

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.maximum(x_ref[...], y_ref[...])


def workload(x, y):
    bm = 64
    spec = pl.BlockSpec((bm, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // bm,),
        in_specs=[spec, spec],
        out_specs=spec,
    )(x, y)


def reference(x, y):
    return jnp.maximum(x, y)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (200, 128), jnp.float32),
        jax.random.normal(keys[1], (200, 128), jnp.float32),
    )
