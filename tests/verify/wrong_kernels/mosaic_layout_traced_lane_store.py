# expect: compile mosaic_layout
# row 18: a store at lanes read from SMEM

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(at_ref, x_ref, o_ref):
    o_ref[...] = jnp.zeros_like(o_ref)
    o_ref[:, pl.ds(at_ref[0], 128)] = x_ref[...]


def workload(at, x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct((64, 512), x.dtype),
    )(at, x)


def reference(at, x):
    return jax.lax.dynamic_update_slice(jnp.zeros((64, 512)), x, (0, at[0]))


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (1,), 0, 300, jnp.int32),
        jax.random.normal(keys[1], (64, 128), jnp.float32),
    )
