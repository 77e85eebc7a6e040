# expect: trace grid
# row 11: a float in the grid of a PrefetchScalarGridSpec

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(s_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...]


def workload(s, x):
    spec = pl.BlockSpec((64, 128), lambda i, s: (s[i], 0))
    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(256 / 64,),
            in_specs=[spec],
            out_specs=pl.BlockSpec((64, 128), lambda i, s: (i, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(s, x)


def reference(s, x):
    return x.reshape(4, 64, 128)[s].reshape(256, 128)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (4,), 0, 4, jnp.int32),
        jax.random.normal(keys[1], (256, 128), jnp.float32),
    )
