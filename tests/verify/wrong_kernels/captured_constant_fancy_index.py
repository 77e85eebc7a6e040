# expect: trace captured_constant
# row 25: a list of rows as an index

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = x[np.array([7, 6, 5, 4, 3, 2, 1, 0])]


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x[::-1]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (8, 128), jnp.float32),)
