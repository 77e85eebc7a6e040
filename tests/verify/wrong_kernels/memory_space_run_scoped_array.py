# expect: trace memory_space
# row 37: run_scoped given arrays

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    def body(tmp_ref):
        tmp_ref[...] = x_ref[...] * 2.0
        o_ref[...] = tmp_ref[...]

    pl.run_scoped(body, jnp.zeros((64, 128), jnp.float32))


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
