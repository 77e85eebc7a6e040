# expect: lower block_shape
# row 2: a bias in 1-D blocks of 96

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def linear_kernel(x_ref, w_ref, b_ref, o_ref):
    acc = jnp.dot(x_ref[...], w_ref[...], preferred_element_type=jnp.float32)
    o_ref[...] = acc + jnp.max(b_ref[...])


def workload(x, w, b):
    m, n = x.shape[0], w.shape[1]
    return pl.pallas_call(
        linear_kernel,
        grid=(2,),
        in_specs=[
            pl.BlockSpec((m, 128), lambda j: (0, 0)),
            pl.BlockSpec((128, n), lambda j: (0, 0)),
            pl.BlockSpec((96,), lambda j: (j,)),
        ],
        out_specs=pl.BlockSpec((m, n), lambda j: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
    )(x, w, b)


def reference(x, w, b):
    return x @ w + jnp.max(b[96:])


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 3)
    return (
        jax.random.normal(keys[0], (64, 128), jnp.float32),
        jax.random.normal(keys[1], (128, 192), jnp.float32),
        jax.random.normal(keys[2], (192,), jnp.float32),
    )
