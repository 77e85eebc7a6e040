# expect: api undefined_name
# a decorator that was not imported

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


@partial(jax.jit, static_argnames=("block",))
def workload(x, block=64):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2.0

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
