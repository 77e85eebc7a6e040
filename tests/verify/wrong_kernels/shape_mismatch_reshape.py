# expect: trace shape_mismatch
# a reshape to another size

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def workload(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...].reshape(8, 16, 128).sum(axis=1)

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)


def reference(x):
    return x.reshape(8, 8, 128).sum(axis=1)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
