"""A GPU keyword given to the TPU compiler parameters."""

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def workload(x):
    return pl.pallas_call(copy_kernel, out_shape=x, compiler_params=pltpu.CompilerParams(num_warps=4))(x)


def fixed(x):
    params = pltpu.CompilerParams(vmem_limit_bytes=64 * 1024 * 1024)
    return pl.pallas_call(copy_kernel, out_shape=x, compiler_params=params)(x)


def create_inputs():
    return (jnp.zeros((256, 512), jnp.float32),)
