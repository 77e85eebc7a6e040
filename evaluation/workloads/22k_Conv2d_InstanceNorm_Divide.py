"""2-D convolution, instance normalisation, bias, division by a constant (KernelBench level 2, NCHW and OIHW layouts).

PyTorch's Conv2d (cross-correlation, stride 1, no padding) without bias, InstanceNorm2d with affine parameters (each
channel of each image normalised over its pixels by its biased variance; Ulyanov et al., arXiv 1607.08022), then a bias
a channel, then a division. The published workload adds the bias before the norm, which subtracts it again, so its
output does not depend on it; here it is added after the norm.

The convolution accumulates in float32 and stays there through the norm; the result is rounded once. Weights are scaled
by 1/sqrt(fan-in), so that convolution outputs have a standard deviation of one.
"""

import jax
import jax.numpy as jnp

CONFIG = {
    "batch_size": 128,
    "in_channels": 64,
    "out_channels": 128,
    "height": 128,
    "width": 128,
    "kernel_size": 3,
    "divide_by": 2.0,
    "epsilon": 1e-5,
}

CHECK = {"batch_size": 4}


def create_inputs(dtype=jnp.bfloat16, seed=0):
    cin, cout, size = CONFIG["in_channels"], CONFIG["out_channels"], CONFIG["kernel_size"]
    x_key, weight_key, bias_key, scale_key, shift_key = jax.random.split(jax.random.key(seed), 5)
    x = jax.random.normal(x_key, (CONFIG["batch_size"], cin, CONFIG["height"], CONFIG["width"]), jnp.float32)
    weight = jax.random.normal(weight_key, (cout, cin, size, size), jnp.float32) * (cin * size * size) ** -0.5
    bias = 0.5 * jax.random.normal(bias_key, (cout,), jnp.float32)
    norm_scale = jax.random.uniform(scale_key, (cout,), jnp.float32, 0.5, 1.5)
    norm_shift = 0.5 * jax.random.normal(shift_key, (cout,), jnp.float32)
    return tuple(array.astype(dtype) for array in (x, weight, bias, norm_scale, norm_shift))


def workload(x, weight, bias, norm_scale, norm_shift):
    conv = jax.lax.conv_general_dilated(
        x,
        weight,
        window_strides=(1, 1),
        padding="VALID",
        dimension_numbers=("NCHW", "OIHW", "NCHW"),
        preferred_element_type=jnp.float32,
    )
    centred = conv - jnp.mean(conv, axis=(2, 3), keepdims=True)
    variance = jnp.mean(centred * centred, axis=(2, 3), keepdims=True)
    scale, shift, offset = (v.astype(jnp.float32)[:, None, None] for v in (norm_scale, norm_shift, bias))
    normed = centred * jax.lax.rsqrt(variance + CONFIG["epsilon"]) * scale + shift
    return ((normed + offset) / CONFIG["divide_by"]).astype(x.dtype)


def get_flops():
    """Return the convolution's multiplications and additions; the norm adds about ten an output element."""
    size = CONFIG["kernel_size"]
    pixels = (CONFIG["height"] - size + 1) * (CONFIG["width"] - size + 1)
    outputs = CONFIG["batch_size"] * CONFIG["out_channels"] * pixels
    return 2 * outputs * CONFIG["in_channels"] * size * size
