# expect: lower block_shape
# row 1: a block of (8, 64)

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


BLOCK_M, BLOCK_N = 8, 64


def gelu_kernel(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = 0.5 * x * (1.0 + jnp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def workload(x):
    m, n = x.shape
    return pl.pallas_call(
        gelu_kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(m // BLOCK_M, n // BLOCK_N),
        in_specs=[pl.BlockSpec((BLOCK_M, BLOCK_N), lambda i, j: (i, j))],
        out_specs=pl.BlockSpec((BLOCK_M, BLOCK_N), lambda i, j: (i, j)),
    )(x)


def reference(x):
    return jax.nn.gelu(x)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 256), jnp.float32),)
