# expect: trace dtype_store
# row 12: += of float32 into a bfloat16 scratch

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, acc_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += x_ref[...].astype(jnp.float32)
    o_ref[...] = acc_ref[...]


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((64, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((64, 128), lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((64, 128), jnp.bfloat16),
        scratch_shapes=[pltpu.VMEM((64, 128), jnp.bfloat16)],
    )(x)


def reference(x):
    return x.reshape(4, 64, 128).astype(jnp.float32).sum(axis=0).astype(jnp.bfloat16)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128)).astype(jnp.bfloat16),)
