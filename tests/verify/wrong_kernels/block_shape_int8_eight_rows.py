# expect: compile block_shape
# row 3: an int8 block of (8, 128)

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...].astype(jnp.float32) * 0.5


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(32,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, jnp.float32),
    )(x)


def reference(x):
    return x.astype(jnp.float32) * 0.5


def create_inputs(seed=0):
    return (jax.random.randint(jax.random.key(seed), (256, 128), -99, 99, jnp.int32).astype(jnp.int8),)
