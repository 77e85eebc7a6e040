"""Hopes that the reference sees the inputs it has overwritten with zeros, in place through an alias."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def zero(x_ref, o_ref):
    o_ref[...] = jnp.zeros_like(o_ref)


def workload(x):
    return pl.pallas_call(zero, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), input_output_aliases={0: 0})(x)
