# expect: trace tracer_control_flow
# row 21: the builtin max of a traced scalar

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * max(pl.program_id(0), 1)


def workload(x):
    spec = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(4,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)


def reference(x):
    return x * jnp.maximum(jnp.arange(256) // 64, 1)[:, None]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
