# expect: numerics uninitialized
# grid too short: the columns of the output counted in rows

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, w_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], w_ref[...], preferred_element_type=jnp.float32)


def workload(x, w):
    m, n = x.shape[0], w.shape[1]
    return pl.pallas_call(
        kernel,
        grid=(m // 128, m // 128),
        in_specs=[pl.BlockSpec((128, 128), lambda i, j: (i, 0)), pl.BlockSpec((128, 128), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
    )(x, w)


def reference(x, w):
    return x @ w


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (128, 128), jnp.float32),
        jax.random.normal(keys[1], (128, 256), jnp.float32),
    )
