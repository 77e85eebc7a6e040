# expect: lower unsupported_primitive
# a traced row of a loaded value

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...]

    def body(i, acc):
        return acc + x[i][None, :]

    o_ref[...] = jax.lax.fori_loop(0, 8, body, jnp.zeros((1, 128), jnp.float32))


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((1, 128), x.dtype))(x)


def reference(x):
    return jnp.sum(x[:8], axis=0, keepdims=True)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
