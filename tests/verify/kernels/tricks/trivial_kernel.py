"""Does the work in plain XLA and copies the result through a kernel."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def copied(x):
    return pl.pallas_call(copy, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def in_xla(x):
    return x / (1.0 + jnp.max(jnp.abs(x), axis=1, keepdims=True))


def workload(x):
    return copied(in_xla(x))
