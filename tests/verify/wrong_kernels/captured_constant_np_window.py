# expect: trace captured_constant
# row 25: NumPy filter weights in the kernel

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

WEIGHTS = np.linspace(0.0, 1.0, 128, dtype=np.float32)


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * jnp.asarray(WEIGHTS)[None, :]


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x * jnp.linspace(0.0, 1.0, 128)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
