# expect: lower block_shape
# row 1: one row at a time, (1, 512) of (256, 512)

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, w_ref, o_ref):
    x = x_ref[...]
    scale = jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)
    o_ref[...] = x * scale * w_ref[...]


@jax.jit
def workload(x, w):
    rows, features = x.shape
    return pl.pallas_call(
        kernel,
        grid=(rows,),
        in_specs=[
            pl.BlockSpec(block_shape=(1, features), index_map=lambda i: (i, 0)),
            pl.BlockSpec(block_shape=(1, features), index_map=lambda i: (0, 0)),
        ],
        out_specs=pl.BlockSpec(block_shape=(1, features), index_map=lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, w.reshape(1, features))


def reference(x, w):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * w


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (256, 512), jnp.float32),
        jax.random.normal(keys[1], (512,), jnp.float32),
    )
