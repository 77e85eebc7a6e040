"""Convolution, instance norm, bias and division in one pass: an image and a group of its output channels at a time.

An image lies in VMEM as (channels, pixels). The convolution is one matmul for each of the nine taps: taps of a column
are whole rows apart, so their pixels start on lanes that are multiples of the width; the columns' sums are then rolled
into place by one and two lanes. What wraps around lands in the last two columns, which are no outputs.
"""

import functools
import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

EPSILON, DIVISOR = 1e-5, 2.0


def kernel(x_ref, weight_ref, bias_ref, scale_ref, shift_ref, o_ref, *, width, size):
    out_rows = x_ref.shape[1] // width - size + 1
    pixels = out_rows * width
    conv = None
    for dx in range(size):
        column = None
        for dy in range(size):
            part = x_ref[:, dy * width : dy * width + pixels]
            part = jnp.dot(weight_ref[dy, dx], part, preferred_element_type=jnp.float32)
            column = part if column is None else column + part
        column = pltpu.roll(column, pixels - dx, 1) if dx else column
        conv = column if conv is None else conv + column
    out_columns = width - size + 1
    inside = jax.lax.broadcasted_iota(jnp.int32, conv.shape, 1) % width < out_columns
    count = out_rows * out_columns
    mean = jnp.sum(jnp.where(inside, conv, 0.0), axis=1, keepdims=True) / count
    centred = jnp.where(inside, conv - mean, 0.0)
    variance = jnp.sum(centred * centred, axis=1, keepdims=True) / count
    bias, scale, shift = (ref[...].astype(jnp.float32) for ref in (bias_ref, scale_ref, shift_ref))
    normed = centred * jax.lax.rsqrt(variance + EPSILON) * scale + shift
    o_ref[...] = ((normed + bias) / DIVISOR).astype(o_ref.dtype)


def workload(x, weight, bias, norm_scale, norm_shift):
    batch, channels, height, width = x.shape
    out_channels, _, size, _ = weight.shape
    group = math.gcd(out_channels, 32)
    rows = height - size + 1
    taps = weight.transpose(2, 3, 0, 1)
    vector = pl.BlockSpec((group, 1), lambda b, c: (c, 0))
    out = pl.pallas_call(
        functools.partial(kernel, width=width, size=size),
        out_shape=jax.ShapeDtypeStruct((batch, out_channels, rows * width), x.dtype),
        grid=(batch, out_channels // group),
        in_specs=[
            pl.BlockSpec((None, channels, height * width), lambda b, c: (b, 0, 0)),
            pl.BlockSpec((size, size, group, channels), lambda b, c: (0, 0, c, 0)),
            vector,
            vector,
            vector,
        ],
        out_specs=pl.BlockSpec((None, group, rows * width), lambda b, c: (b, c, 0)),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
    )(x.reshape(batch, channels, height * width), taps, *(v[:, None] for v in (bias, norm_scale, norm_shift)))
    return out.reshape(batch, out_channels, rows, width)[..., : width - size + 1]
