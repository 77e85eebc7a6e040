# expect: numerics out_of_bounds
# dynamic out-of-bounds: a fori_loop one chunk too long

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    def body(i, acc):
        return acc + x_ref[pl.ds(i * 8, 8), :]

    o_ref[...] = jax.lax.fori_loop(0, 9, body, jnp.zeros((8, 128), jnp.float32))


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)


def reference(x):
    return x.reshape(8, 8, 128).sum(axis=0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
