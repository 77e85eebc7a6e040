# expect: lower semaphore
# row 40: two barriers in one kernel, none with an id

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, done_ref):
    first = pltpu.get_barrier_semaphore()
    for _ in range(2):
        pl.semaphore_signal(first, inc=1)
    pl.semaphore_wait(first, 2)
    pl.semaphore_signal(done_ref, 1)
    pl.semaphore_wait(done_ref, 1)
    o_ref[...] = x_ref[...] - 1.0


def workload(x):
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.REGULAR],
        compiler_params=pltpu.CompilerParams(has_side_effects=True),
    )(x)


def reference(x):
    return x - 1.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
