"""A kernel that forgets the scratch reference."""

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def workload(x):
    return pl.pallas_call(kernel, out_shape=x, scratch_shapes=[pltpu.VMEM((256, 512), jnp.float32)])(x)


def fixed(x):
    def with_scratch(x_ref, o_ref, acc_ref):
        acc_ref[...] = x_ref[...]
        o_ref[...] = acc_ref[...]

    return pl.pallas_call(with_scratch, out_shape=x, scratch_shapes=[pltpu.VMEM((256, 512), jnp.float32)])(x)


def create_inputs():
    return (jnp.zeros((256, 512), jnp.float32),)
