# expect: trace semaphore
# a signal on an array of semaphores

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, sems):
    pl.semaphore_signal(sems, 1)
    pl.semaphore_wait(sems, 1)
    o_ref[...] = x_ref[...]


def workload(x):
    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), scratch_shapes=[pltpu.SemaphoreType.REGULAR((2,))]
    )(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
