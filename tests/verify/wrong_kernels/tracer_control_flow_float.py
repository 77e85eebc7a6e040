# expect: trace tracer_control_flow
# row 22: float() of a loaded scalar

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(scale_ref, x_ref, o_ref):
    scale = float(scale_ref[0])
    o_ref[...] = x_ref[...] * scale


def workload(scale, x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec()],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(scale, x)


def reference(scale, x):
    return x * scale[0]


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (1,), jnp.float32),
        jax.random.normal(keys[1], (64, 128), jnp.float32),
    )
