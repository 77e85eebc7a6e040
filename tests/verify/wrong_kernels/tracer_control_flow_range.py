# expect: trace tracer_control_flow
# row 22: range() of a loaded length

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(len_ref, x_ref, o_ref):
    acc = jnp.zeros((1, 128), jnp.float32)
    for i in range(len_ref[0]):
        acc = acc + x_ref[i : i + 1, :]
    o_ref[...] = acc


def workload(length, x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct((1, 128), x.dtype),
    )(length, x)


def reference(length, x):
    return jnp.sum(jnp.where(jnp.arange(64)[:, None] < length[0], x, 0.0), axis=0, keepdims=True)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (1,), 0, 64, jnp.int32),
        jax.random.normal(keys[1], (64, 128), jnp.float32),
    )
