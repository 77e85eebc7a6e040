# expect: trace undefined_name
# assigned in one branch only

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref, *, causal):
    x = x_ref[...]
    if causal:
        y = jnp.tril(x)
    o_ref[...] = y


def workload(x):
    return pl.pallas_call(functools.partial(kernel, causal=False), out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 128), jnp.float32),)
