# expect: trace captured_constant
# row 25: a jnp array in the kernel's closure

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def workload(x):
    scale = jnp.arange(128, dtype=jnp.float32)

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * scale

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x * jnp.arange(128, dtype=jnp.float32)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
