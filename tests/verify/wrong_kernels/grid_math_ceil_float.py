# expect: trace grid
# row 11: np.ceil gives a float

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = jnp.sqrt(jnp.abs(x_ref[...]))


def workload(x):
    m, n = x.shape
    grid = (np.ceil(m / 64), np.ceil(n / 128))
    spec = pl.BlockSpec((64, 128), lambda i, j: (i, j))
    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct((m, n), x.dtype), grid=grid, in_specs=[spec], out_specs=spec
    )(x)


def reference(x):
    return jnp.sqrt(jnp.abs(x))


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 256), jnp.float32),)
