# expect: compile mosaic_layout
# row 18: lanes from a traced index

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    i = pl.program_id(0)
    o_ref[...] = x_ref[:, pl.ds(i * 64, 128)]


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(3,),
        in_specs=[pl.BlockSpec((64, 512), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((64, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((192, 128), x.dtype),
    )(x)


def reference(x):
    return jnp.concatenate([x[:, i * 64 : i * 64 + 128] for i in range(3)])


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 512), jnp.float32),)
