# expect: trace index_map
# row 7: 0.0 for the second index

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = -x_ref[...]


def workload(x):
    spec = pl.BlockSpec((64, 128), lambda i: (i, 0.0))
    return pl.pallas_call(kernel, grid=(4,), in_specs=[spec], out_specs=spec, out_shape=x)(x)


def reference(x):
    return -x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
