# expect: trace tracer_control_flow
# row 21: a Python while on a loaded value

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(n_ref, x_ref, o_ref):
    y = x_ref[...]
    n = n_ref[0]
    while n > 0:
        y = y * 0.5
        n = n - 1
    o_ref[...] = y


def workload(n, x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(n, x)


def reference(n, x):
    return x * 0.5 ** n[0].astype(jnp.float32)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (1,), 0, 5, jnp.int32),
        jax.random.normal(keys[1], (64, 128), jnp.float32),
    )
