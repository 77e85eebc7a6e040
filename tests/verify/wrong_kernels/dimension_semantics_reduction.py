# expect: lower dimension_semantics
# row 31: "reduction"

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref):
    @pl.when(pl.program_id(1) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += x_ref[...]


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(1, 4),
        in_specs=[pl.BlockSpec((64, 128), lambda i, k: (k, i))],
        out_specs=pl.BlockSpec((64, 128), lambda i, k: (0, i)),
        out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "reduction")),
    )(x)


def reference(x):
    return x.reshape(4, 64, 128).sum(axis=0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
