# expect: trace tracer_control_flow
# row 23: 0 <= rows < n of an iota

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    row = jax.lax.broadcasted_iota(jnp.int32, (64, 128), 0)
    o_ref[...] = jnp.where(8 <= row < 16, x_ref[...], 0.0)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return jnp.where((jnp.arange(64) >= 8) & (jnp.arange(64) < 16), x.T, 0.0).T


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
