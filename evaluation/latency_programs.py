"""Plain-JAX forms of the published operators and the Pallas kernels shipped in JAX, as `evaluation.latency` times them.

Written from each operator's published definition: its name, sizes and dtypes, and where the name leaves it open what
the public baseline computes (statistics of a norm, order of a reduction, type of the scores). They are for timing, not
for checking numbers. `PROGRAMS` maps `<id>/baseline` and `<id>/optimized` to a function and its inputs; the official
files replace the former once they are here.

Left out: 7p's baseline (run eagerly as published, one dispatch an operation) and 11p's (cannot be jitted).
Block sizes of the Pallas kernels are the tuned ones that the public optimized files state. The kernels themselves are
those of the installed JAX, which may differ from the release they were published with.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.nn import gelu, relu, sigmoid, silu, softmax, softplus
from jax.scipy.special import logsumexp

Array = Any
PUBLISHED = json.loads(Path(__file__).with_name("latency_published.json").read_text(encoding="utf-8"))["workloads"]


@dataclass(frozen=True)
class Timed:
    """A function and what makes its inputs."""

    workload: Callable[..., Any]
    create_inputs: Callable[[], tuple[Array, ...]]


PROGRAMS: dict[str, Timed] = {}


def zeros(*texts: str) -> tuple[Array, ...]:
    """Return arrays of zeros for texts like `bfloat16[4, 8]`."""
    found = []
    for text in texts:
        dtype, dimensions = re.fullmatch(r"(\w+)\[([\d, ]*)\]", text).groups()  # type: ignore[union-attr]
        found.append(jnp.zeros([int(d) for d in dimensions.split(",") if d.strip()], dtype))
    return tuple(found)


def baseline(name: str, inputs: Callable[[], tuple[Array, ...]] | None = None) -> Callable[[Any], Any]:
    """Register a function as the baseline of a published operator, with its published inputs by default."""

    def register(function: Any) -> Any:
        PROGRAMS[f"{name}/baseline"] = Timed(function, inputs or (lambda: zeros(*PUBLISHED[name]["inputs"])))
        return function

    return register


def optimized(name: str, inputs: Callable[[], tuple[Array, ...]]) -> Callable[[Any], Any]:
    """Register a function as the optimized form of a published operator."""

    def register(function: Any) -> Any:
        PROGRAMS[f"{name}/optimized"] = Timed(function, inputs)
        return function

    return register


def linear(x: Array, weight: Array, bias: Array) -> Array:
    return jnp.matmul(x, weight) + bias


def linear_t(x: Array, weight: Array, bias: Array) -> Array:
    return jnp.matmul(x, weight.T) + bias


def mish(x: Array) -> Array:
    return x * jnp.tanh(softplus(x))


def normalise(x: Array, axis: Any) -> Array:
    mean = jnp.mean(x, axis=axis, keepdims=True)
    return (x - mean) / jnp.sqrt(jnp.var(x, axis=axis, keepdims=True) + 1e-5)


def channels(vector: Array, rank: int) -> Array:
    return vector.reshape((1, -1) + (1,) * (rank - 2))


def convolve(x: Array, kernel: Array, bias: Array) -> Array:
    """Convolve channels-first arrays in channels-last layout, as the public baselines do."""
    rank = x.ndim
    spatial = "DHW"[5 - rank :]
    x = jnp.moveaxis(x, 1, -1)
    kernel = jnp.transpose(kernel, (*range(2, rank), 1, 0))
    layout = (f"N{spatial}C", f"{spatial}IO", f"N{spatial}C")
    out = jax.lax.conv_general_dilated(x, kernel, (1,) * (rank - 2), "VALID", dimension_numbers=layout)
    return jnp.moveaxis(out + bias, -1, 1)


def attend(q: Array, k: Array, v: Array, bias: Array | None = None) -> Array:
    """Causal attention over [..., sequence, width], in the inputs' type throughout."""
    scores = jnp.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
    if bias is not None:
        scores = scores + bias
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.einsum("...qk,...kd->...qd", softmax(jnp.where(causal, scores, -1e9), axis=-1), v)


# --- production operators ---

baseline("1p_Flash_Attention")(attend)


@baseline("2p_GQA_Attention")
def _gqa(q, k, v):
    k, v = (jnp.repeat(x, q.shape[2] // x.shape[2], axis=2) for x in (k, v))
    return attend(*(x.transpose(0, 2, 1, 3) for x in (q, k, v))).transpose(0, 2, 1, 3)


def _rotate(x, angles):
    cos, sin = (f(angles).astype(x.dtype)[None, :, None, :] for f in (jnp.cos, jnp.sin))
    even, odd = x[..., ::2], x[..., 1::2]
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(x.shape)


def _mla_heads(x, q_down, q_up, kv_down, k_up, v_up):
    batch, seq, _ = x.shape
    heads, nope, rope, rank = 128, 128, 64, 512
    q = ((x @ q_down) @ q_up).reshape(batch, seq, heads, nope + rope)
    kv = x @ kv_down
    k = (kv[..., :rank] @ k_up).reshape(batch, seq, heads, nope)
    v = (kv[..., :rank] @ v_up).reshape(batch, seq, heads, nope)
    angles = jnp.outer(jnp.arange(seq, dtype=jnp.float32), 1e4 ** (-jnp.arange(0, rope, 2) / rope))
    shared = jnp.broadcast_to(kv[:, :, None, rank:], (batch, seq, heads, rope))
    q = jnp.concatenate([q[..., :nope], _rotate(q[..., nope:], angles)], axis=-1)
    return q, jnp.concatenate([k, _rotate(shared, angles)], axis=-1), v


@baseline("3p_MLA_Attention")
def _mla(x, q_down, q_up, kv_down, k_up, v_up, o_proj):
    q, k, v = (y.transpose(0, 2, 1, 3) for y in _mla_heads(x, q_down, q_up, kv_down, k_up, v_up))
    out = attend(q, k, v).transpose(0, 2, 1, 3)
    return out.reshape(*x.shape[:2], -1) @ o_proj


# The published baseline has no batch: its FLOPs are a quarter of the optimized kernel's.
@baseline(
    "4p_Sparse_Attention",
    lambda: zeros("bfloat16[64, 4096, 128]", "bfloat16[8, 4096, 128]", "bfloat16[8, 4096, 128]"),
)
def _sparse(q, k, v):
    return attend(q, *(jnp.repeat(x, 8, axis=0) for x in (k, v)))


baseline("5p_Flex_Attention")(attend)


@baseline("6p_Paged_Attention")
def _paged(q, k_pages, v_pages, kv_lens, page_indices, cu_q_lens):
    def one(sequence):
        row = jax.lax.dynamic_slice(q, (cu_q_lens[sequence], 0, 0), (1, 64, 128))
        k, v = (pages[page_indices[sequence]].reshape(4096, 8, 128) for pages in (k_pages, v_pages))
        k, v = (jnp.repeat(x, 8, axis=1) for x in (k, v))
        scores = jnp.einsum("qhd,khd->hqk", row, k) * 128**-0.5
        scores = jnp.where(jnp.arange(4096) < kv_lens[sequence], scores, -1e30)
        return jnp.einsum("hqk,khd->qhd", softmax(scores, axis=-1), v)[0]

    return jax.vmap(one)(jnp.arange(64))


baseline("8p_GEMM")(jnp.matmul)


@baseline("9p_SwiGLU_MLP")
def _swiglu(x, gate, up, down):
    return (silu(x @ gate) * (x @ up)) @ down


@baseline("10p_Sparse_MoE")
def _moe(x, router, gate, up, down):
    top, which = jax.lax.top_k(x @ router, 2)
    hidden = silu(jnp.einsum("bse,nem->bsnm", x, gate)) * jnp.einsum("bse,nem->bsnm", x, up)
    experts = jnp.einsum("bsnm,nme->bsne", hidden, down)
    weights = (jax.nn.one_hot(which, 8) * softmax(top, axis=-1)[..., None]).sum(axis=2)
    return jnp.einsum("bsne,bsn->bse", experts, weights)


@baseline("12p_RMSNorm")
def _rms_norm(x, weight):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-5)).astype(x.dtype) * weight


@baseline("13p_Cross_Entropy")
def _cross_entropy(hidden, weight, labels):
    logits = jax.nn.log_softmax(hidden @ weight, axis=-1)
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, logits.shape[-1]) * logits, axis=-1))


@baseline("14p_Ragged_Dot")
def _ragged_dot(x, weights):
    return jnp.einsum("gmk,gkn->gmn", x, weights)


@baseline("15p_RetNet_Retention")
def _retention(q, k, v):
    heads, seq = q.shape[1:3]
    rates = jnp.log(1 - 2.0 ** (-5 - jnp.arange(heads, dtype=jnp.float32)))
    position = jnp.arange(seq, dtype=jnp.float32)
    distance = position[:, None] - position
    decay = jnp.exp(rates[:, None, None] * distance) * (distance >= 0)
    scores = jnp.einsum("bhsd,bhtd->bhst", q.astype(jnp.float32), k.astype(jnp.float32)) * decay
    scores = scores / jnp.maximum(jnp.sum(jnp.abs(scores), axis=-1, keepdims=True), 1)
    return jnp.einsum("bhst,bhtd->bhsd", scores.astype(q.dtype), v)


@baseline("16p_Mamba2_SSD")
def _ssd(q, k, v, decay):
    seq = q.shape[2]
    total = jnp.cumsum(jnp.log(sigmoid(decay) + 1e-8), axis=-1)
    causal = jnp.tril(jnp.ones((seq, seq), bool))
    mask = jnp.exp(jnp.where(causal, total[..., :, None] - total[..., None, :], -1e30))
    scores = jnp.einsum("bhsd,bhtd->bhst", q.astype(jnp.float32), k.astype(jnp.float32)) * mask
    sums = jnp.sum(scores, axis=-1, keepdims=True)
    sums = jnp.abs(jnp.where(jnp.abs(sums) < 1e-6, 1.0, sums))
    return jnp.einsum("bhst,bhtd->bhsd", (scores / jnp.maximum(sums, 1)).astype(q.dtype), v)


@baseline("17p_Triangle_Multiplication")
def _triangle(pair, mask, left, right, left_gate, right_gate, scale, out, out_gate):
    act = pair * mask
    a, b = (act @ w * sigmoid(act @ g) for w, g in ((left, left_gate), (right, right_gate)))
    x = jnp.einsum("ikc,jkc->ijc", a, b)
    x = x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6) * scale
    return x @ out * sigmoid(pair @ out_gate)


# --- fused operators ---


@baseline("18k_Conv2D_ReLU_BiasAdd")
def _18k(x, kernel, conv_bias, bias):
    return relu(convolve(x, kernel, conv_bias)) + bias


@baseline("19k_Matmul_Subtract_Multiply_ReLU")
def _19k(x, weight, bias):
    return relu((linear(x, weight, bias) - 2.0) * 1.5)


@baseline("20k_Gemm_Multiply_LeakyReLU")
def _20k(x, weight, bias):
    return jax.nn.leaky_relu(linear(x, weight, bias) * 2.0, 0.1)


@baseline("21k_Gemm_Divide_Sum_Scaling")
def _21k(x, weight):
    return jnp.sum(x @ weight.T / 2, axis=1, keepdims=True) * 1.5


@baseline("22k_Conv2d_InstanceNorm_Divide")
def _22k(x, kernel, bias, scale, shift):
    x = normalise(convolve(x, kernel, bias), (2, 3))
    return (x * channels(scale, 4) + channels(shift, 4)) / 2.0


@baseline("23k_Matmul_Sum_Max_AvgPool_LogSumExp_LogSumExp")
def _23k(x, weight, bias):
    x = jnp.sum(linear_t(x, weight, bias), axis=1, keepdims=True)
    for reduce in (jnp.max, jnp.mean, logsumexp, logsumexp):
        x = reduce(x, axis=1, keepdims=True)
    return x


@baseline("24k_Matmul_Scale_ResidualAdd_Clamp_LogSumExp_Mish")
def _24k(x, weight, bias):
    x = linear_t(x, weight, bias) * 2.0
    x = logsumexp(jnp.clip(x + x, -10.0, 10.0), axis=1, keepdims=True)
    return x * mish(x)


@baseline("25k_Conv3d_GroupNorm_Mean")
def _25k(x, kernel, bias, scale, shift):
    x = convolve(x, kernel, bias)
    grouped = normalise(x.reshape(x.shape[0], 8, 3, *x.shape[2:]), (2, 3, 4, 5)).reshape(x.shape)
    return jnp.mean(grouped * channels(scale, 5) + channels(shift, 5), axis=(1, 2, 3, 4))


@baseline("26k_BMM_InstanceNorm_Sum_ResidualAdd_Multiply")
def _26k(x, y, weight, bias, scale, shift):
    x = normalise(linear_t(x, weight, bias)[:, :, None, None], (2, 3))
    x = (x * channels(scale, 4) + channels(shift, 4))[:, :, 0, 0]
    return (x + y) * y


@baseline("27k_Matmul_Mish_Mish")
def _27k(x, weight, bias):
    return mish(mish(linear(x, weight, bias)))


@baseline("28k_ConvTranspose3d_LayerNorm_GELU_Scaling")
def _28k(x, kernel, bias, scale, shift):
    x = jnp.moveaxis(x, 1, -1)
    kernel = jnp.flip(jnp.transpose(kernel, (2, 3, 4, 1, 0)), axis=(0, 1, 2))
    spread = jnp.zeros((x.shape[0], *(2 * n - 1 for n in x.shape[1:4]), x.shape[4]), x.dtype)
    spread = spread.at[:, ::2, ::2, ::2].set(x)
    x = jax.lax.conv_general_dilated(
        spread, kernel, (1, 1, 1), [(2, 2)] * 3, dimension_numbers=("NDHWC", "DHWOI", "NDHWC")
    )
    x = normalise(jnp.moveaxis(x + bias, -1, 1), -1)
    return gelu(x * scale + shift) * 1.0


@baseline("29k_Matmul_Swish_Sum_GroupNorm")
def _29k(x, weight, bias, scale, shift):
    x = silu(x @ weight) + bias
    return normalise(x.reshape(-1, 64, 64), -1).reshape(x.shape) * scale + shift


@baseline("30k_Matmul_Scaling_ResidualAdd")
def _30k(x, weight, bias):
    x = linear(x, weight, bias)
    return x * 0.5 + x


@baseline("31k_Gemm_BatchNorm_GELU_ReLU")
def _31k(x, weight, bias, scale, shift):
    return relu(gelu(normalise(linear_t(x, weight, bias), 0) * scale + shift))


@baseline("32k_Gemm_Sigmoid_LogSumExp")
def _32k(x, weight1, bias1, weight2, bias2):
    return logsumexp(linear_t(sigmoid(linear_t(x, weight1, bias1)), weight2, bias2), axis=1)


@baseline("33k_Conv3d_Mish_Tanh")
def _33k(x, kernel, bias):
    return jnp.tanh(mish(convolve(x, kernel, bias)))


@baseline("34k_Conv2d_Activation_BatchNorm")
def _34k(x, kernel, bias, scale, shift):
    x = normalise(mish(convolve(x, kernel, bias)), (0, 2, 3))
    return x * channels(scale, 4) + channels(shift, 4)


@baseline("35k_Gemm_Scaling_Hardtanh_GELU")
def _35k(x, weight, bias):
    return gelu(jnp.clip(linear(x, weight, bias) * 0.5, -2, 2))


@baseline("36k_Matmul_Sigmoid_Sum")
def _36k(x, weight, bias):
    return jnp.sum(sigmoid(linear_t(x, weight, bias)), axis=1, keepdims=True)


@baseline("37k_Matmul_Swish_Scaling")
def _37k(x, weight, bias):
    return silu(linear(x, weight, bias)) * 2.0


@baseline("38k_Matmul_Dropout_Softmax")
def _38k(x, weight, bias):
    return softmax(linear_t(x, weight, bias), axis=1)


@baseline("39k_Conv2d_GELU_GlobalAvgPool")
def _39k(x, kernel, bias):
    return jnp.mean(gelu(convolve(x, kernel, bias)), axis=(2, 3))


@baseline("40k_Gemm_GroupNorm_Min_BiasAdd")
def _40k(x, weight, linear_bias, scale, shift, bias):
    x = linear_t(x, weight, linear_bias)
    x = normalise(x.reshape(-1, 512, 16), 2).reshape(x.shape) * scale + shift
    return jnp.min(x, axis=1).reshape(1, 1, -1, 1) + bias


@baseline("41k_Gemm_Add_ReLU")
def _41k(x, weight, bias):
    return relu(linear(x, weight, bias))


@baseline("42k_Gemm_Max_Subtract_GELU")
def _42k(x, weight, bias):
    x = jnp.max(linear(x, weight, bias), axis=1, keepdims=True)
    return gelu(x - jnp.mean(x, axis=1, keepdims=True))


def _running_norm(x, scale, shift, mean, variance):
    return scale * (x - mean) / jnp.sqrt(variance + 1e-5) + shift


@baseline("43k_Gemm_BatchNorm_Scaling_Softmax")
def _43k(x, weight, bias, scale, shift, mean, variance, factor):
    return softmax(factor * _running_norm(linear(x, weight, bias), scale, shift, mean, variance), axis=1)


@baseline("44k_Matmul_Divide_GELU")
def _44k(x, weight, bias):
    return gelu(linear(x, weight, bias) / 10.0)


@baseline("45k_Gemm_GroupNorm_Swish_Multiply_Swish")
def _45k(x, weight, bias, scale, shift, factor):
    x = linear(x, weight, bias)
    x = normalise(x.reshape(-1, 256, 32), 2).reshape(x.shape) * scale + shift
    return silu(silu(x) * factor)


@baseline("46k_Conv2d_GroupNorm_Tanh_HardSwish_ResidualAdd_LogSumExp")
def _46k(x, kernel, bias, scale, shift):
    conv = convolve(x, kernel, bias)
    x = normalise(conv.reshape(conv.shape[0], 16, 4, *conv.shape[2:]), (2, 3, 4)).reshape(conv.shape)
    x = jnp.tanh(x * channels(scale, 4) + channels(shift, 4))
    return logsumexp(conv + x * jnp.clip(x + 3, 0, 6) / 6, axis=1, keepdims=True)


@baseline("47k_Matmul_Add_Swish_Tanh_GELU_Hardtanh")
def _47k(x, weight, bias, added):
    return jnp.clip(gelu(jnp.tanh(silu(linear(x, weight, bias) + added))), -1, 1)


@baseline("48k_Matmul_BatchNorm_BiasAdd_Divide_Swish")
def _48k(x, weight, bias, scale, shift, mean, variance, added):
    return silu((_running_norm(linear(x, weight, bias), scale, shift, mean, variance) + added) / 1.0)


@baseline("49k_Matmul_AvgPool_GELU_Scale_Max")
def _49k(x, weight, bias):
    x = linear(x, weight, bias)[:, None]
    pooled = jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 1, 16), (1, 1, 16), "VALID")[:, 0] / 16
    return jnp.max(gelu(pooled) * 2.0, axis=1)


@baseline("50k_Matmul_GELU_Softmax")
def _50k(x, weight, bias):
    return softmax(gelu(linear(x, weight, bias)), axis=1)


# --- Pallas kernels shipped in JAX ---


def _heads(batch: int, heads: int, kv_heads: int, seq: int, width: int) -> Callable[[], tuple[Array, ...]]:
    q, kv = f"bfloat16[{batch}, {heads}, {seq}, {width}]", f"bfloat16[{batch}, {kv_heads}, {seq}, {width}]"
    return lambda: zeros(q, kv, kv)


def _flash(q, k, v, block_k, scale):
    from jax.experimental.pallas.ops.tpu import flash_attention as flash

    sizes = flash.BlockSizes(block_q=2048, block_k_major=2048, block_k=block_k, block_b=1)
    return flash.flash_attention(q, k, v, causal=True, sm_scale=scale, block_sizes=sizes)


@optimized("1p_Flash_Attention", _heads(4, 64, 64, 4096, 128))
def _flash_attention(q, k, v):
    return _flash(q, k, v, 512, 128**-0.5)


def _splash(q, k, v, block, compute):
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks

    heads, seq = q.shape[1:3]
    mask = masks.MultiHeadMask([masks.CausalMask((seq, seq))] * heads)
    sizes = splash.BlockSizes(block_q=block, block_kv=block, block_kv_compute=compute)
    kernel = splash.make_splash_mha_single_device(mask, block_sizes=sizes)
    return jax.vmap(lambda a, b, c: kernel(a, *(jnp.repeat(x, heads // k.shape[1], axis=0) for x in (b, c))))(q, k, v)


@optimized("2p_GQA_Attention", lambda: zeros(*PUBLISHED["2p_GQA_Attention"]["inputs"]))
def _splash_gqa(q, k, v):
    return _splash(*(x.transpose(0, 2, 1, 3) for x in (q, k, v)), 1024, 512).transpose(0, 2, 1, 3)


@optimized("3p_MLA_Attention", lambda: zeros(*PUBLISHED["3p_MLA_Attention"]["inputs"]))
def _flash_mla(x, q_down, q_up, kv_down, k_up, v_up, o_proj):
    padded = [
        jnp.pad(y, ((0, 0), (0, 0), (0, 0), (0, 256 - y.shape[-1]))).transpose(0, 2, 1, 3)
        for y in _mla_heads(x, q_down, q_up, kv_down, k_up, v_up)
    ]
    out = _flash(*padded, 1024, 192**-0.5)[..., :128].transpose(0, 2, 1, 3)
    return out.reshape(*x.shape[:2], -1) @ o_proj


@optimized("4p_Sparse_Attention", _heads(4, 64, 8, 4096, 128))
def _splash_attention(q, k, v):
    return _splash(q, k, v, 2048, 1024)


def _pages() -> tuple[Array, ...]:
    pages = zeros("bfloat16[64, 64, 128]", *["bfloat16[8, 16384, 16, 128]"] * 2)
    return (*pages, jnp.full((64,), 4096, jnp.int32), jnp.arange(16384, dtype=jnp.int32).reshape(64, 256))


@optimized("6p_Paged_Attention", _pages)
def _paged_attention(q, k_pages, v_pages, lengths, page_indices):
    from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention

    return paged_attention(q, k_pages, v_pages, lengths, page_indices, pages_per_compute_block=64)


def _ragged_pages() -> tuple[Array, ...]:
    arrays = zeros("bfloat16[4096, 64, 128]", "bfloat16[16384, 16, 16, 128]")
    table = jnp.arange(16384, dtype=jnp.int32).reshape(64, 256)
    starts = jnp.arange(65, dtype=jnp.int32) * 64
    return (*arrays, jnp.full((64,), 4096, jnp.int32), table, starts, jnp.full((1,), 64, jnp.int32))


@optimized("7p_Ragged_Paged_Attention", _ragged_pages)
def _ragged_paged_attention(q, kv_pages, kv_lens, page_indices, cu_q_lens, num_seqs):
    from jax.experimental.pallas.ops.tpu.ragged_paged_attention import ragged_paged_attention

    return ragged_paged_attention(
        q,
        kv_pages,
        kv_lens,
        page_indices,
        cu_q_lens,
        num_seqs,
        sm_scale=1 / math.sqrt(128),
        num_kv_pages_per_block=32,
        num_queries_per_block=64,
        vmem_limit_bytes=32 * 1024 * 1024,
    )


@optimized("8p_GEMM", lambda: zeros(*PUBLISHED["8p_GEMM"]["inputs"]))
def _matmul(x, y):
    from jax.experimental.pallas.ops.tpu.matmul import matmul

    return matmul(x, y, block_shape=(1024, 2048), block_k=1024)


def _groups() -> tuple[Array, ...]:
    return (*zeros("bfloat16[32768, 4096]", "bfloat16[128, 4096, 1536]"), jnp.full((128,), 256, jnp.int32))


@optimized("11p_Megablox_GMM", _groups)
def _grouped_matmul(x, weights, sizes):
    from jax.experimental.pallas.ops.tpu.megablox import gmm

    return gmm(x, weights, sizes, tiling=(128, 512, 512))
