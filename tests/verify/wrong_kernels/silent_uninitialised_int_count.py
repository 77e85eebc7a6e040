# expect: numerics uninitialized
# an integer count never set to zero

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, count_ref):
    count_ref[0] += 1
    o_ref[...] = x_ref[...] + count_ref[0]


def workload(x):
    spec = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(2,),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.SMEM((1,), jnp.int32)],
    )(x)


def reference(x):
    return x + (1 + jnp.arange(128) // 64)[:, None]


def create_inputs(seed=0):
    return (jax.random.randint(jax.random.key(seed), (128, 128), 0, 99, jnp.int32),)
