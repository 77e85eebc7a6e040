# expect: numerics timeout
# a while_loop whose condition never fails

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    def step(state):
        i, acc = state
        return i + 1, acc + x_ref[...]

    _, acc = jax.lax.while_loop(lambda state: state[0] >= 0, step, (0, jnp.zeros((8, 128), jnp.float32)))
    o_ref[...] = acc


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (8, 128), jnp.float32),)
