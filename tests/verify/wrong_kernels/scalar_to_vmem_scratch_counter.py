# expect: lower scalar_to_vmem
# row 14: a counter kept in a VMEM scratch

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, count_ref):
    count_ref[0, 0] = pl.program_id(0)
    o_ref[...] = x_ref[...] * count_ref[...].astype(jnp.float32)


def workload(x):
    spec = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((1, 1), jnp.int32)],
    )(x)


def reference(x):
    return x * (jnp.arange(256) // 64)[:, None]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
