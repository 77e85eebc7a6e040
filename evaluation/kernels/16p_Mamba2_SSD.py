"""State space duality in chunks: attention-like inside a chunk, a float32 state carried from chunk to chunk."""

import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def contract(x, y, x_dim, y_dim):
    return jax.lax.dot_general(x, y, (((x_dim,), (y_dim,)), ((), ())), preferred_element_type=jnp.float32)


def kernel(c_ref, b_ref, x_ref, log_decay_ref, y_ref, state_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        state_ref[...] = jnp.zeros_like(state_ref)

    c, b, x = c_ref[...], b_ref[...], x_ref[...]
    length = c.shape[0]
    row = jax.lax.broadcasted_iota(jnp.int32, (length, length), 0)
    column = jax.lax.broadcasted_iota(jnp.int32, (length, length), 1)
    causal = column <= row
    # Sums of the logarithms up to each row; as no chunk sums over lanes and sublanes alike, the other way by transpose.
    total = jnp.sum(jnp.where(causal, log_decay_ref[...], 0.0), axis=1, keepdims=True)
    spread = jnp.broadcast_to(total, (length, length))
    decay = jnp.where(causal, jnp.exp(jnp.minimum(spread - spread.T, 0.0)), 0.0)
    whole = jnp.sum(log_decay_ref[...], axis=1, keepdims=True)

    weights = (contract(c, b, 1, 1) * decay).astype(x.dtype)
    inside = contract(weights, x, 1, 0)
    before = jnp.exp(total) * contract(c.astype(jnp.float32), state_ref[...], 1, 0)
    y_ref[...] = (inside + before).astype(y_ref.dtype)
    kept = b.astype(jnp.float32) * jnp.exp(whole - total)
    state_ref[...] = jnp.exp(whole) * state_ref[...] + contract(kept, x.astype(jnp.float32), 0, 0)


def workload(C, B, X, A_log):
    batch, heads, length, width = X.shape
    chunk = math.gcd(length, 128)
    rows = pl.BlockSpec((None, None, chunk, width), lambda b, h, i: (b, h, i, 0))
    decays = pl.BlockSpec((None, None, None, 1, chunk), lambda b, h, i: (b, h, i, 0, 0))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(X.shape, X.dtype),
        grid=(batch, heads, length // chunk),
        in_specs=[rows, rows, rows, decays],
        out_specs=rows,
        scratch_shapes=[pltpu.VMEM((width, width), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(C, B, X, A_log.reshape(batch, heads, length // chunk, 1, chunk))
