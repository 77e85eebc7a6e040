# expect: numerics wrong_values
# a causal mask with block numbers for positions

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(q_ref, k_ref, o_ref):
    i, j = pl.program_id(0), pl.program_id(1)
    s = jnp.dot(q_ref[...], k_ref[...].T, preferred_element_type=jnp.float32)
    row = i + jax.lax.broadcasted_iota(jnp.int32, s.shape, 0)
    column = j + jax.lax.broadcasted_iota(jnp.int32, s.shape, 1)
    o_ref[...] = jnp.where(column <= row, s, 0.0)


def workload(q, k):
    return pl.pallas_call(
        kernel,
        grid=(2, 2),
        in_specs=[pl.BlockSpec((128, 128), lambda i, j: (i, 0)), pl.BlockSpec((128, 128), lambda i, j: (j, 0))],
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((256, 256), jnp.float32),
    )(q, k)


def reference(q, k):
    return jnp.tril(q @ k.T)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (256, 128), jnp.float32),
        jax.random.normal(keys[1], (256, 128), jnp.float32),
    )


TOLERANCE = (1e-2, 1e-2)
