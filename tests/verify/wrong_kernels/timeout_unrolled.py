# expect: trace timeout
# a loop of a million steps unrolled by Python

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    acc = jnp.zeros((8, 128), jnp.float32)
    for i in range(1_000_000):
        acc = acc + x_ref[pl.ds(i % 8 * 8, 8), :]
    o_ref[...] = acc


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)


def reference(x):
    return x.reshape(8, 8, 128).sum(axis=0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
