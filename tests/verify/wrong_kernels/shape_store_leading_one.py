# expect: trace shape_store
# row 13: a 2-D result into a (1, m, n) block

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(q_ref, k_ref, o_ref):
    o_ref[...] = jnp.dot(q_ref[0], k_ref[0].T, preferred_element_type=jnp.float32)


def workload(q, k):
    b, s, d = q.shape
    return pl.pallas_call(
        kernel,
        grid=(b,),
        in_specs=[pl.BlockSpec((1, s, d), lambda b: (b, 0, 0))] * 2,
        out_specs=pl.BlockSpec((1, s, s), lambda b: (b, 0, 0)),
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
