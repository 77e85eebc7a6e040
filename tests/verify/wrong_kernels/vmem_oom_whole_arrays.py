# expect: compile vmem_oom
# row 35: whole 64 MiB operands and result

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


def workload(x, y):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, y)


def reference(x, y):
    return x + y


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (4096, 4096), jnp.float32),
        jax.random.normal(keys[1], (4096, 4096), jnp.float32),
    )
