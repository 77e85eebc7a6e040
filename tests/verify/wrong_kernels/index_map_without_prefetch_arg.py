# expect: trace index_map
# row 6: scalar prefetch refs left out of the index map

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(scale_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] * scale_ref[0].astype(jnp.float32)


def workload(scale, x):
    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(2,),
            in_specs=[pl.BlockSpec((128, 128), lambda i: (i, 0))],
            out_specs=pl.BlockSpec((128, 128), lambda i: (i, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(scale, x)


def reference(scale, x):
    return x * scale[0].astype(jnp.float32)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (4,), 0, 9, jnp.int32),
        jax.random.normal(keys[1], (256, 128), jnp.float32),
    )
