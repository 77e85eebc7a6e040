# expect: numerics uninitialized
# an unmasked edge block in a softmax over ragged columns

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, m_ref, l_ref):
    j = pl.program_id(1)

    @pl.when(j == 0)
    def _():
        m_ref[...] = jnp.full_like(m_ref, -jnp.inf)
        l_ref[...] = jnp.zeros_like(l_ref)

    x = x_ref[...]
    m = jnp.maximum(m_ref[...], jnp.max(x, axis=1, keepdims=True))
    l_ref[...] = l_ref[...] * jnp.exp(m_ref[...] - m) + jnp.sum(jnp.exp(x - m), axis=1, keepdims=True)
    m_ref[...] = m

    @pl.when(j == pl.num_programs(1) - 1)
    def _():
        o_ref[...] = m_ref[...] + jnp.log(l_ref[...])


def workload(x):
    return pl.pallas_call(
        kernel,
        grid=(1, pl.cdiv(x.shape[1], 128)),
        in_specs=[pl.BlockSpec((64, 128), lambda i, j: (i, j))],
        out_specs=pl.BlockSpec((64, 1), lambda i, j: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((64, 1), x.dtype),
        scratch_shapes=[pltpu.VMEM((64, 1), jnp.float32), pltpu.VMEM((64, 1), jnp.float32)],
    )(x)


def reference(x):
    return jax.nn.logsumexp(x, axis=1, keepdims=True)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 200), jnp.float32),)
