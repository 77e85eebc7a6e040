# expect: trace tracer_control_flow
# row 22: a shape that depends on the step

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    n = pl.program_id(0) + 1
    o_ref[...] = x_ref[...] + jnp.zeros((n * 8, 128))


def workload(x):
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(1,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (8, 128), jnp.float32),)
