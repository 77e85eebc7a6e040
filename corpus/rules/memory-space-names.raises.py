"""Vector memory looked for in the wrong module."""

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, acc_ref):
    acc_ref[...] = x_ref[...]
    o_ref[...] = acc_ref[...]


def workload(x):
    return pl.pallas_call(kernel, out_shape=x, scratch_shapes=[pl.VMEM((256, 512), jnp.float32)])(x)


def fixed(x):
    return pl.pallas_call(kernel, out_shape=x, scratch_shapes=[pltpu.VMEM((256, 512), jnp.float32)])(x)


def create_inputs():
    return (jnp.zeros((256, 512), jnp.float32),)
