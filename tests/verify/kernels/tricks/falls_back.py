"""Tries a kernel that cannot work and falls back to plain XLA."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def broken(x_ref, o_ref):
    o_ref[...] = x_ref[...].reshape(3, -1)


def workload(x):
    try:
        return pl.pallas_call(broken, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
    except Exception:
        return x / (1.0 + jnp.max(jnp.abs(x), axis=1, keepdims=True))
