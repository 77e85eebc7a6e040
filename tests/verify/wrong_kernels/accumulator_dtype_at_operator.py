# expect: lower accumulator_dtype
# row 32: `@` of bfloat16 in an attention kernel

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def attention_kernel(q_ref, k_ref, v_ref, o_ref):
    scores = (q_ref[0] @ k_ref[0].T).astype(jnp.float32)
    p = jax.nn.softmax(scores, axis=-1).astype(v_ref.dtype)
    o_ref[0] = p @ v_ref[0]


def workload(q, k, v):
    spec = pl.BlockSpec((1, 128, 128), lambda b: (b, 0, 0))
    return pl.pallas_call(
        attention_kernel,
        grid=(2,),
        in_specs=[spec] * 3,
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
    )(q, k, v)


def reference(q, k, v):
    return jnp.einsum("bst,btd->bsd", jax.nn.softmax(jnp.einsum("bsd,btd->bst", q, k), axis=-1), v)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 3)
    return (
        jax.random.normal(keys[0], (2, 128, 128)).astype(jnp.bfloat16),
        jax.random.normal(keys[1], (2, 128, 128)).astype(jnp.bfloat16),
        jax.random.normal(keys[2], (2, 128, 128)).astype(jnp.bfloat16),
    )
