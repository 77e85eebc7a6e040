# expect: numerics wrong_values
# partial sums kept in bfloat16

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, acc_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] = (acc_ref[...] + x_ref[...]).astype(jnp.bfloat16)

    @pl.when(pl.program_id(0) == pl.num_programs(0) - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(jnp.float32)


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(16,),
        in_specs=[pl.BlockSpec((16, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((16, 128), lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
        scratch_shapes=[pltpu.VMEM((16, 128), jnp.bfloat16)],
    )(x)


def reference(x):
    return x.reshape(16, 16, 128).sum(axis=0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
