# expect: lower memory_space
# row 16: a slice read straight from HBM in a loop

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref):
    def body(i, acc):
        return acc + x_ref[pl.ds(i * 8, 8), :]

    o_ref[...] = jax.lax.fori_loop(0, 8, body, jnp.zeros((8, 128), jnp.float32))


def workload(x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pltpu.HBM)],
        out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
        out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),
    )(x)


def reference(x):
    return x.reshape(8, 8, 128).sum(axis=0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
