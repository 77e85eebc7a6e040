# expect: compile vmem_oom
# row 35: whole K panels of a large matmul

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, w_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], w_ref[...], preferred_element_type=jnp.float32).astype(o_ref.dtype)


def workload(x, w):
    m, k = x.shape
    n = w.shape[1]
    return pl.pallas_call(
        kernel,
        grid=(m // 512, n // 512),
        in_specs=[pl.BlockSpec((512, k), lambda i, j: (i, 0)), pl.BlockSpec((k, 512), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((512, 512), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
    )(x, w)


def reference(x, w):
    return jnp.dot(x, w)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (1024, 16384)).astype(jnp.bfloat16),
        jax.random.normal(keys[1], (16384, 1024)).astype(jnp.bfloat16),
    )
