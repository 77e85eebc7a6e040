# expect: trace kernel_signature
# row 10: a parameter that nothing is passed for

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def workload(x):
    def scale_kernel(x_ref, factor, o_ref):
        o_ref[...] = x_ref[...] * factor

    return pl.pallas_call(scale_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
