# expect: numerics out_of_bounds
# prefetched row numbers used as block indices

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(start_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...]


def workload(start, x):
    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(2,),
            in_specs=[pl.BlockSpec((8, 128), lambda i, start: (8 * start[i] + 8, 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i, start: (i, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype),
    )(start, x)


def reference(start, x):
    return jnp.concatenate([jax.lax.dynamic_slice(x, (start[i] * 8, 0), (8, 128)) for i in range(2)])


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (2,), 0, 8, jnp.int32),
        jax.random.normal(keys[1], (64, 128), jnp.float32),
    )
