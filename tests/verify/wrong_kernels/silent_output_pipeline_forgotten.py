# expect: numerics uninitialized
# an emit_pipeline that writes into scratch instead

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_hbm, o_hbm, scratch):
    def body(x_ref):
        scratch[...] = x_ref[...] * 2.0

    spec = pl.BlockSpec((64, 128), lambda i: (i, 0))
    pltpu.emit_pipeline(body, grid=(2,), in_specs=[spec])(x_hbm)


def workload(x):
    hbm = pl.BlockSpec(memory_space=pl.ANY)
    return pl.pallas_call(
        kernel,
        in_specs=[hbm],
        out_specs=hbm,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((64, 128), x.dtype)],
    )(x)


def reference(x):
    return x * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 128), jnp.float32),)
