# expect: lower unsupported_primitive
# complex numbers

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    z = jax.lax.complex(x_ref[...], x_ref[...])
    o_ref[...] = jnp.real(z * z) + jnp.imag(z)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
