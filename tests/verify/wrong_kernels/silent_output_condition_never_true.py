# expect: numerics uninitialized
# an output written in a step that never comes

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, acc_ref):
    k = pl.program_id(0)

    @pl.when(k == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += x_ref[...]

    @pl.when(k == pl.num_programs(0))
    def _():
        o_ref[...] = acc_ref[...]


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((64, 128), lambda k: (k, 0))],
        out_specs=pl.BlockSpec((64, 128), lambda k: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype),
        scratch_shapes=[pltpu.VMEM((64, 128), jnp.float32)],
    )(x)


def reference(x):
    return x.reshape(4, 64, 128).sum(axis=0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
