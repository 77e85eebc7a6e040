# expect: lower block_shape
# row 1: gathering single rows by scalar prefetch

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(ids_ref, table_ref, o_ref):
    o_ref[...] = table_ref[...]


def workload(table, ids):
    n, d = ids.shape[0], table.shape[1]
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(n,),
        in_specs=[pl.BlockSpec((1, d), lambda i, ids: (ids[i], 0))],
        out_specs=pl.BlockSpec((1, d), lambda i, ids: (i, 0)),
    )
    return pl.pallas_call(kernel, grid_spec=grid_spec, out_shape=jax.ShapeDtypeStruct((n, d), table.dtype))(ids, table)


def reference(table, ids):
    return table[ids]


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (64, 128), jnp.float32),
        jax.random.randint(keys[1], (16,), 0, 64, jnp.int32),
    )
