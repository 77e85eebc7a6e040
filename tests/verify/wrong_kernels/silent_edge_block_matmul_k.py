# expect: numerics uninitialized
# an unmasked edge block along K of a matmul

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, w_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.dot(x_ref[...], w_ref[...], preferred_element_type=jnp.float32)


def workload(x, w):
    m, k = x.shape
    n = w.shape[1]
    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(k, 128),),
        in_specs=[pl.BlockSpec((m, 128), lambda k: (0, k)), pl.BlockSpec((128, n), lambda k: (k, 0))],
        out_specs=pl.BlockSpec((m, n), lambda k: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
    )(x, w)


def reference(x, w):
    return x @ w


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (64, 200), jnp.float32),
        jax.random.normal(keys[1], (200, 128), jnp.float32),
    )


TOLERANCE = (1e-2, 1e-2)
