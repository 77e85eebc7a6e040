"""Compiler parameters given as a dict."""

import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def workload(x):
    return pl.pallas_call(
        copy_kernel,
        out_shape=x,
        compiler_params=dict(mosaic=dict(dimension_semantics=("parallel",))),
    )(x)


def fixed(x):
    spec = pl.BlockSpec((128, 512), lambda i: (i, 0))
    params = pltpu.CompilerParams(dimension_semantics=("parallel",))
    return pl.pallas_call(copy_kernel, grid=(2,), in_specs=[spec], out_specs=spec, out_shape=x, compiler_params=params)(
        x
    )


def create_inputs():
    return (jnp.zeros((256, 512), jnp.float32),)
