# expect: lower semaphore
# row 40: the same in the first step of a grid

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        sem = pltpu.get_barrier_semaphore()
        pltpu.semaphore_signal(sem, inc=1)
        pltpu.semaphore_wait(sem, 1)

    o_ref[...] = x_ref[...] + 1.0


def workload(x):
    spec = pl.BlockSpec((64, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(2,),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary",)),
    )(x)


def reference(x):
    return x + 1.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (128, 128), jnp.float32),)
