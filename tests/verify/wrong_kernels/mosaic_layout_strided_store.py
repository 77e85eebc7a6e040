# expect: compile mosaic_layout
# row 19: interleaving lanes by strided stores

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(a_ref, b_ref, o_ref):
    o_ref[:, pl.ds(0, 128, stride=2)] = a_ref[...]
    o_ref[:, pl.ds(1, 128, stride=2)] = b_ref[...]


def workload(a, b):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 256), a.dtype))(a, b)


def reference(a, b):
    return jnp.stack([a, b], axis=-1).reshape(64, 256)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (64, 128), jnp.float32),
        jax.random.normal(keys[1], (64, 128), jnp.float32),
    )
