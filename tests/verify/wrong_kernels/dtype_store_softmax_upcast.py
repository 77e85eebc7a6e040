# expect: trace dtype_store
# row 12: upcast for the softmax, not cast back

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...].astype(jnp.float32)
    e = jnp.exp(x - x.max(axis=-1, keepdims=True))
    o_ref[:, :] = e / e.sum(axis=-1, keepdims=True)


def workload(x):
    spec = pl.BlockSpec((64, 256), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(4,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)


def reference(x):
    return jax.nn.softmax(x.astype(jnp.float32)).astype(x.dtype)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 256)).astype(jnp.bfloat16),)
