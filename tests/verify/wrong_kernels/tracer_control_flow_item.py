# expect: trace tracer_control_flow
# row 22: .item() of a loaded scalar

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(n_ref, x_ref, o_ref):
    n = n_ref[0].item()
    o_ref[...] = x_ref[...] * n


def workload(n, x):
    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(1,),
            in_specs=[pl.BlockSpec((64, 128), lambda i, n: (0, 0))],
            out_specs=pl.BlockSpec((64, 128), lambda i, n: (0, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(n, x)


def reference(n, x):
    return x * n[0]


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.randint(keys[0], (1,), 0, 5, jnp.int32),
        jax.random.normal(keys[1], (64, 128), jnp.float32),
    )
