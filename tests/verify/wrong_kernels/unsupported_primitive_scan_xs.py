# expect: lower unsupported_primitive
# scan over the rows of a value

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    def step(carry, row):
        carry = 0.9 * carry + row
        return carry, carry

    _, out = jax.lax.scan(step, jnp.zeros((128,), jnp.float32), x_ref[...])
    o_ref[...] = out


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return jax.lax.scan(lambda c, r: (0.9 * c + r,) * 2, jnp.zeros((128,)), x)[1]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
