# expect: trace shape_mismatch
# row 29: a bfloat16 carry that becomes float32

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    def body(i, acc):
        return acc + x_ref[pl.ds(i * 8, 8), :].astype(jnp.float32)

    acc = jax.lax.fori_loop(0, 8, body, jnp.zeros((8, 128), jnp.bfloat16))
    o_ref[...] = acc.astype(o_ref.dtype)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)


def reference(x):
    return x.reshape(8, 8, 128).astype(jnp.float32).sum(axis=0).astype(x.dtype)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128)).astype(jnp.bfloat16),)
