# expect: trace tracer_control_flow
# row 21: a Python if on the step

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    if pl.program_id(0) == 0:
        o_ref[...] = jnp.zeros_like(o_ref)
    o_ref[...] += x_ref[...]


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((64, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((64, 128), lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype),
    )(x)


def reference(x):
    return x.reshape(4, 64, 128).sum(axis=0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
