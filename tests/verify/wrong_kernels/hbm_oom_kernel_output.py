# expect: compile hbm_oom
# row 36: a kernel output of 40 GiB

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def workload(x):
    big = pl.pallas_call(
        kernel,
        grid=(10240,),
        in_specs=[pl.BlockSpec((1024, 1024), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((1024, 1024), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((10240 * 1024, 1024), x.dtype),
    )(x)
    return big[-8:, :128]


def reference(x):
    return x[-8:, :128] * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (1024, 1024), jnp.float32),)
