# expect: lower accumulator_dtype
# row 32: dot_general that asks for bfloat16

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, w_ref, o_ref):
    o_ref[...] = jax.lax.dot_general(
        x_ref[...], w_ref[...], (((1,), (1,)), ((), ())), preferred_element_type=jnp.bfloat16
    )


def workload(x, w):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.bfloat16))(x, w)


def reference(x, w):
    return jnp.dot(x, w.T)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (128, 256)).astype(jnp.bfloat16),
        jax.random.normal(keys[1], (128, 256)).astype(jnp.bfloat16),
    )
