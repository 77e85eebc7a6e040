# expect: trace captured_constant
# row 25: an argument of the workload used in the kernel

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def workload(x, bias):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + bias

    spec = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(2,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)


def reference(x, bias):
    return x + bias


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (128, 128), jnp.float32),
        jax.random.normal(keys[1], (128,), jnp.float32),
    )
