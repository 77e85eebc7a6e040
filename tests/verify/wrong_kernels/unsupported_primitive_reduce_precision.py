# expect: lower unsupported_primitive
# reduce_precision

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jax.lax.reduce_precision(x_ref[...], exponent_bits=8, mantissa_bits=7)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return jax.lax.reduce_precision(x, exponent_bits=8, mantissa_bits=7)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
