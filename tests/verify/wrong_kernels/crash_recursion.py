# expect: trace crash
# endless recursion

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def tree_sum(parts):
    return tree_sum(parts) + parts[0]


def kernel(x_ref, o_ref):
    o_ref[...] = tree_sum([x_ref[...]])


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
