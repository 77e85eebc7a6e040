# expect: lower unsupported_primitive
# a convolution in the kernel

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, w_ref, o_ref):
    o_ref[...] = jax.lax.conv_general_dilated(
        x_ref[...], w_ref[...], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def workload(x, w):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, w)


def reference(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (1, 16, 16, 128), jnp.float32),
        jax.random.normal(keys[1], (3, 3, 128, 128), jnp.float32),
    )
