# expect: compile smem_oom
# row 17: an SMEM scratch of 400,000 words

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, seen_ref):
    def body(i, total):
        seen_ref[i] = i
        return total + seen_ref[i // 2]

    total = jax.lax.fori_loop(0, 400_000, body, 0)
    o_ref[...] = x_ref[...] + total.astype(jnp.float32)


def workload(x):
    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), scratch_shapes=[pltpu.SMEM((400_000,), jnp.int32)]
    )(x)


def reference(x):
    return x


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (8, 128), jnp.float32),)
