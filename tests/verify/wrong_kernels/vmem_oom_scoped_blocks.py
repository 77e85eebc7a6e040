# expect: compile vmem_oom
# row 35: double buffered blocks over the scoped limit

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.maximum(x_ref[...], 0.0)


def workload(x):
    spec = pl.BlockSpec((2048, 2048), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(4,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)


def reference(x):
    return jnp.maximum(x, 0.0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (8192, 2048), jnp.float32),)
