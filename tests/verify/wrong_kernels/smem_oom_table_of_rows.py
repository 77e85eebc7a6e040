# expect: compile smem_oom
# row 17: (4096, 4) int32 counts as 2 MiB

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(table_ref, x_ref, o_ref):
    i = pl.program_id(0)
    o_ref[...] = x_ref[...] * table_ref[i, 0].astype(jnp.float32)


def workload(table, x):
    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(4,),
            in_specs=[pl.BlockSpec((64, 128), lambda i, t: (i, 0))],
            out_specs=pl.BlockSpec((64, 128), lambda i, t: (i, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(table, x)


def reference(table, x):
    return x * jnp.repeat(table[:4, 0], 64)[:, None].astype(jnp.float32)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (4096, 4), 0, 9, jnp.int32),
        jax.random.normal(keys[1], (256, 128), jnp.float32),
    )
