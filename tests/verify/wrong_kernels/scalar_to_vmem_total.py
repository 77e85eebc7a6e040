# expect: lower scalar_to_vmem
# row 14: a full sum stored into a (1, 1) output

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[0, 0] = jnp.sum(x_ref[...])


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((1, 1), x.dtype))(x)


def reference(x):
    return jnp.sum(x).reshape(1, 1)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
