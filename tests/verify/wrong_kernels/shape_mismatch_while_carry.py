# expect: trace shape_mismatch
# row 29: a while_loop whose counter turns float

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    def cond(state):
        return state[0] < 8

    def body(state):
        i, acc = state
        return i + 1.0, acc + x_ref[...]

    _, acc = jax.lax.while_loop(cond, body, (jnp.int32(0), jnp.zeros((8, 128), jnp.float32)))
    o_ref[...] = acc


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)


def reference(x):
    return x * 8.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (8, 128), jnp.float32),)
