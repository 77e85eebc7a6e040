# expect: trace tracer_control_flow
# row 23: `and` between masks

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...]
    mask = (x > 0.0) and (x < 1.0)
    o_ref[...] = jnp.where(mask, x, 0.0)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return jnp.where((x > 0.0) & (x < 1.0), x, 0.0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
