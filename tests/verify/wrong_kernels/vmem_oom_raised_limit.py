# expect: compile vmem_oom
# row 35: more than there is, with the limit raised

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, acc_ref):
    acc_ref[pl.ds(0, 8), :] = x_ref[...]

    def body(i, carry):
        acc_ref[pl.ds(i * 8, 8), :] = x_ref[...] * 2.0
        return carry + acc_ref[pl.ds((i // 2) * 8, 8), :]

    o_ref[...] = jax.lax.fori_loop(1, 5000, body, jnp.zeros((8, 1024), jnp.float32))


def workload(x):
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((65536, 1024), jnp.float32)],
        compiler_params=pltpu.CompilerParams(vmem_limit_bytes=120 * 1024 * 1024),
    )(x)


def reference(x):
    return x * 9998.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (8, 1024), jnp.float32),)
