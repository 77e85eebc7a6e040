# expect: import import_error
# a file read at import that is not there

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


with open("block_sizes.json", encoding="utf-8") as stream:
    SIZES = stream.read()


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
