# expect: trace autodiff
# row 41: jax.grad through pallas_call

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * x_ref[...]


def square(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def workload(x):
    return jax.grad(lambda x: jnp.sum(square(x)))(x)


def reference(x):
    return 2.0 * x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
