# expect: compile smem_oom
# row 17: a whole float32 matrix in SMEM

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(w_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] * w_ref[0, 0] + w_ref[511, 3]


def workload(w, x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(w, x)


def reference(w, x):
    return x * w[0, 0] + w[511, 3]


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (512, 1024), jnp.float32),
        jax.random.normal(keys[1], (64, 128), jnp.float32),
    )
