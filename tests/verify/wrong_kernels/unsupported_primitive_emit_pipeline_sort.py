# expect: lower unsupported_primitive
# sort inside emit_pipeline

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def body(x_ref, o_ref):
    o_ref[...] = jnp.sort(x_ref[...], axis=-1)


def kernel(x_hbm, o_hbm):
    spec = pl.BlockSpec((64, 128), lambda i: (i, 0))
    pltpu.emit_pipeline(body, grid=(2,), in_specs=[spec], out_specs=[spec])(x_hbm, o_hbm)


def workload(x):
    hbm = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), in_specs=[hbm], out_specs=hbm)(x)


def reference(x):
    return jnp.sort(x, axis=-1)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 128), jnp.float32),)
