# expect: compile vmem_oom
# row 35: a key cache of 48 MiB kept in scratch

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(k_hbm, o_ref, cache_ref, sem):
    pltpu.async_copy(k_hbm, cache_ref, sem).wait()

    def body(i, acc):
        return acc + cache_ref[pl.ds(i * 8, 8), :]

    o_ref[...] = jax.lax.fori_loop(0, 1536, body, jnp.zeros((8, 1024), jnp.float32))


def workload(k):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct((8, 1024), k.dtype),
        scratch_shapes=[pltpu.VMEM(k.shape, k.dtype), pltpu.SemaphoreType.DMA],
    )(k)


def reference(k):
    return k.reshape(-1, 8, 1024).sum(axis=0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (12288, 1024), jnp.float32),)
