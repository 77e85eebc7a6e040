# expect: numerics wrong_values
# a sign

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = x / (1.0 + jnp.exp(x))


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return jax.nn.silu(x)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
