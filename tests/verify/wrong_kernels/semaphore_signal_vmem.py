# expect: trace semaphore
# a signal on a ref that is no semaphore

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, flag_ref):
    pl.semaphore_signal(flag_ref, 1)
    pl.semaphore_wait(flag_ref, 1)
    o_ref[...] = x_ref[...]


def workload(x):
    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), scratch_shapes=[pltpu.SMEM((1,), jnp.int32)]
    )(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
