"""Has the host compute the result, called from the program."""

import jax
from jax.experimental import pallas as pl


def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def copied(x):
    return pl.pallas_call(copy, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def on_the_host(x):
    return x / (1.0 + abs(x).max(axis=1, keepdims=True))


def workload(x):
    return copied(jax.pure_callback(on_the_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
