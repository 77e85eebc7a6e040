# expect: trace wrong_type
# padding left on the result

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1.0


def workload(x):
    padded = jnp.pad(x, ((0, 28), (0, 0)))
    spec = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(2,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(padded.shape, x.dtype)
    )(padded)


def reference(x):
    return x + 1.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (100, 128), jnp.float32),)
