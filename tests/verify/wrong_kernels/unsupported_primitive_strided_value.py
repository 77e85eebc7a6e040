# expect: lower unsupported_primitive
# a strided slice of a value

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = x[::2, :] + x[1::2, :]


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((32, 128), x.dtype))(x)


def reference(x):
    return x[::2] + x[1::2]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
