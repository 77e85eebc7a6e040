# expect: trace block_rank
# row 4: a 1-D block of a 2-D array in emit_pipeline

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def kernel(x_hbm, o_hbm):
    spec = pl.BlockSpec((64,), lambda i: (i,))
    pltpu.emit_pipeline(body, grid=(2,), in_specs=[spec], out_specs=[spec])(x_hbm, o_hbm)


def workload(x):
    hbm = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), in_specs=[hbm], out_specs=hbm)(x)


def reference(x):
    return x * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 128), jnp.float32),)
