# expect: trace index_map
# row 7: an index scaled by a ratio of heads

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(q_ref, k_ref, o_ref):
    o_ref[...] = q_ref[...] + k_ref[...]


def workload(q, k):
    ratio = k.shape[0] / q.shape[0]
    return pl.pallas_call(
        kernel,
        grid=(q.shape[0],),
        in_specs=[
            pl.BlockSpec((1, 64, 128), lambda h: (h, 0, 0)),
            pl.BlockSpec((1, 64, 128), lambda h: (h * ratio, 0, 0)),
        ],
        out_specs=pl.BlockSpec((1, 64, 128), lambda h: (h, 0, 0)),
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
    )(q, k)


def reference(q, k):
    return q + jnp.repeat(k, 2, axis=0)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (4, 64, 128), jnp.float32),
        jax.random.normal(keys[1], (2, 64, 128), jnp.float32),
    )
