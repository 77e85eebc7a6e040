# expect: lower block_shape
# row 2: a 1-D block of 64 float32

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def add_kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


def workload(x, y):
    size = 64
    spec = pl.BlockSpec((size,), lambda i: (i,))
    return pl.pallas_call(
        add_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // size,),
        in_specs=[spec, spec],
        out_specs=spec,
    )(x, y)


def reference(x, y):
    return x + y


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (1024,), jnp.float32),
        jax.random.normal(keys[1], (1024,), jnp.float32),
    )
