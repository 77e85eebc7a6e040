# expect: lower unsupported_primitive
# a gather that is not take_along_axis

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, ids_ref, o_ref):
    o_ref[...] = jnp.take(x_ref[...], ids_ref[0, :8], axis=0)


def workload(x, ids):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x, ids)


def reference(x, ids):
    return x[ids[0, :8]]


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (64, 128), jnp.float32),
        jax.random.randint(keys[1], (8, 128), 0, 64, jnp.int32),
    )
