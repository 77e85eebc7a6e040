# expect: numerics out_of_bounds
# dynamic out-of-bounds: one offset more than there are

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(offsets_ref, x_ref, o_ref):
    i = pl.program_id(0)
    length = offsets_ref[i + 1] - offsets_ref[i]
    o_ref[...] = x_ref[...] * length.astype(jnp.float32)


def workload(offsets, x):
    spec = pl.BlockSpec((64, 128), lambda i, offsets: (i, 0))
    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,), in_specs=[spec], out_specs=spec),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(offsets, x)


def reference(offsets, x):
    return x * jnp.repeat(jnp.diff(offsets, append=0), 64)[:, None].astype(jnp.float32)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (4,), 0, 9, jnp.int32),
        jax.random.normal(keys[1], (256, 128), jnp.float32),
    )
