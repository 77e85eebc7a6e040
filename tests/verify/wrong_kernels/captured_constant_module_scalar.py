# expect: trace captured_constant
# row 25: a module-level jnp scalar

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

LIMIT = jnp.float32(6.0)


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.minimum(jnp.maximum(x_ref[...], 0.0), LIMIT)


def workload(x):
    spec = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(2,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)


def reference(x):
    return jnp.clip(x, 0.0, 6.0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 128), jnp.float32),)
