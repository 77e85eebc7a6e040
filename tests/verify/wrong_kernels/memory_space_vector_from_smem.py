# expect: lower memory_space
# row 15: all prefetched scalars loaded at once

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(scales_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] * scales_ref[...].astype(jnp.float32)[:, None]


def workload(scales, x):
    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(1,),
            in_specs=[pl.BlockSpec((8, 128), lambda i, s: (0, 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i, s: (0, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(scales, x)


def reference(scales, x):
    return x * scales[:, None].astype(jnp.float32)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (8,), 0, 9, jnp.int32),
        jax.random.normal(keys[1], (8, 128), jnp.float32),
    )
