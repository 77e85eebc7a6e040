# expect: compile mosaic_layout
# row 19: every second lane

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[:, pl.ds(0, 128, stride=2)]


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype))(x)


def reference(x):
    return x[:, ::2]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 256), jnp.float32),)
