# expect: trace block_rank
# row 4: a 2-D block for a (batch, m, n) array

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(q_ref, k_ref, o_ref):
    o_ref[...] = jnp.dot(q_ref[...], k_ref[...].T, preferred_element_type=jnp.float32)


def workload(q, k):
    b, s, d = q.shape
    return pl.pallas_call(
        kernel,
        grid=(b,),
        in_specs=[pl.BlockSpec((s, d), lambda b: (b, 0)), pl.BlockSpec((s, d), lambda b: (b, 0))],
        out_specs=pl.BlockSpec((s, s), lambda b: (b, 0)),
        out_shape=jax.ShapeDtypeStruct((b, s, s), jnp.float32),
    )(q, k)


def reference(q, k):
    return jnp.einsum("bsd,btd->bst", q, k)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (2, 128, 128), jnp.float32),
        jax.random.normal(keys[1], (2, 128, 128), jnp.float32),
    )
