# expect: trace specs_mismatch
# row 9: a spec for the prefetched scalars too

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(n_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] * n_ref[0].astype(jnp.float32)


def workload(n, x):
    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(2,),
            in_specs=[
                pl.BlockSpec(memory_space=pltpu.SMEM),
                pl.BlockSpec((128, 128), lambda i, n: (i, 0)),
            ],
            out_specs=pl.BlockSpec((128, 128), lambda i, n: (i, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(n, x)


def reference(n, x):
    return x * n[0].astype(jnp.float32)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (1,), 0, 9, jnp.int32),
        jax.random.normal(keys[1], (256, 128), jnp.float32),
    )
