# expect: numerics out_of_bounds
# grid too long: m // bm + 1 of a dividing m

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(s_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] * s_ref[0].astype(jnp.float32)


def workload(s, x):
    bm = 64
    spec = pl.BlockSpec((bm, 128), lambda i, s: (i, 0))
    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(x.shape[0] // bm + 1,), in_specs=[spec], out_specs=spec
        ),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(s, x)


def reference(s, x):
    return x * s[0].astype(jnp.float32)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (1,), 0, 9, jnp.int32),
        jax.random.normal(keys[1], (256, 128), jnp.float32),
    )
