"""Which JAX primitives a library call comes to: guesses for reading a workload's text without tracing it.

Source: `jax.make_jaxpr` of each call on JAX 0.10.2; a test holds the table against the installed JAX. Layout and
conversion primitives (reshape, broadcast, convert) are left out, as they say nothing of what an operator is.
"""

from __future__ import annotations

from collections.abc import Mapping

# Usual aliases of the modules whose names appear in code and documents, longest first where one contains another.
USUAL_ALIASES: Mapping[str, str] = {
    "jax.experimental.pallas.tpu_sc": "plsc",
    "jax.experimental.pallas.tpu": "pltpu",
    "jax.experimental.pallas": "pl",
    "jax.numpy": "jnp",
    "jax.lax": "lax",
    "numpy": "np",
}

_SOFTMAX = ("reduce_max", "exp", "reduce_sum")
_MEAN = ("reduce_sum", "div")
_VARIANCE = ("reduce_sum", "div", "square")
_SAME_NAME = (
    "abs acos acosh asin asinh atan atanh atan2 cbrt ceil clamp conv_general_dilated cos cosh cumlogsumexp cummax "
    "cummin cumprod cumsum digamma div dot_general dynamic_slice dynamic_update_slice erf erf_inv erfc exp exp2 expm1 "
    "floor gather iota lgamma log log1p logistic max min mul pow ppermute ragged_dot_general reduce_precision rem "
    "round rsqrt scatter select_n sign sin sinh sort sqrt square sub tan tanh top_k all_gather all_to_all"
).split()
_JNP = {
    "abs": ("abs",),
    "arctan2": ("atan2",),
    "argmax": ("argmax",),
    "argmin": ("argmin",),
    "argsort": ("sort",),
    "average": _MEAN,
    "ceil": ("ceil",),
    "cos": ("cos",),
    "cumprod": ("cumprod",),
    "cumsum": ("cumsum",),
    "divide": ("div",),
    "dot": ("dot_general",),
    "einsum": ("dot_general",),
    "exp": ("exp",),
    "exp2": ("exp2",),
    "expm1": ("expm1",),
    "floor": ("floor",),
    "inner": ("dot_general",),
    "linalg.norm": ("reduce_sum", "sqrt"),
    "log": ("log",),
    "log1p": ("log1p",),
    "logaddexp": ("log1p", "exp"),
    "matmul": ("dot_general",),
    "max": ("reduce_max",),
    "maximum": ("max",),
    "mean": _MEAN,
    "min": ("reduce_min",),
    "minimum": ("min",),
    "multiply": ("mul",),
    "outer": ("mul",),
    "power": ("pow",),
    "prod": ("reduce_prod",),
    "searchsorted": ("gather",),
    "sign": ("sign",),
    "sin": ("sin",),
    "sort": ("sort",),
    "sqrt": ("sqrt",),
    "square": ("square",),
    "std": (*_VARIANCE, "sqrt"),
    "subtract": ("sub",),
    "sum": ("reduce_sum",),
    "take": ("gather",),
    "take_along_axis": ("gather",),
    "tanh": ("tanh",),
    "tensordot": ("dot_general",),
    "tril": ("select_n",),
    "triu": ("select_n",),
    "var": _VARIANCE,
    "vdot": ("dot_general",),
    "where": ("select_n",),
}
_NN = {
    "celu": ("expm1",),
    "dot_product_attention": ("dot_general", *_SOFTMAX),
    "elu": ("expm1",),
    "gelu": ("tanh",),
    "glu": ("logistic",),
    "hard_tanh": ("select_n",),
    "leaky_relu": ("select_n",),
    "log_softmax": (*_SOFTMAX, "log"),
    "logsumexp": (*_SOFTMAX, "log"),
    "mish": ("tanh", "log1p"),
    "relu": ("max",),
    "sigmoid": ("logistic",),
    "silu": ("logistic",),
    "softmax": _SOFTMAX,
    "softplus": ("log1p", "exp"),
    "standardize": _VARIANCE,
    "swish": ("logistic",),
}
_LAX = {
    "add": ("add",),
    "approx_max_k": ("approx_top_k",),
    "batch_matmul": ("dot_general",),
    "cond": ("cond",),
    "conv": ("conv_general_dilated",),
    "conv_transpose": ("conv_general_dilated",),
    "dot": ("dot_general",),
    "dynamic_index_in_dim": ("dynamic_slice",),
    "dynamic_slice_in_dim": ("dynamic_slice",),
    "dynamic_update_index_in_dim": ("dynamic_update_slice",),
    "dynamic_update_slice_in_dim": ("dynamic_update_slice",),
    "fori_loop": ("scan",),
    "map": ("scan",),
    "psum": ("psum",),
    "psum_scatter": ("reduce_scatter",),
    "ragged_dot": ("ragged_dot_general",),
    "reduce_window": ("reduce_window",),
    "scan": ("scan",),
    "select": ("select_n",),
    "while_loop": ("while",),
}
_OTHER = {
    "jax.random.bits": ("random_bits",),
    "jax.random.normal": ("random_bits", "erf_inv"),
    "jax.random.uniform": ("random_bits",),
    "jax.ops.segment_sum": ("scatter-add",),
    "jax.scipy.special.logsumexp": (*_SOFTMAX, "log"),
    "jax.scipy.special.erf": ("erf",),
    "jax.shard_map": ("shard_map",),
    "pl.pallas_call": ("pallas_call",),
}

PRIMITIVES_OF_CALL: Mapping[str, tuple[str, ...]] = {
    **{f"lax.{name}": (name,) for name in _SAME_NAME},
    **{f"jnp.{name}": primitives for name, primitives in _JNP.items()},
    **{f"jax.nn.{name}": primitives for name, primitives in _NN.items()},
    **{f"lax.{name}": primitives for name, primitives in _LAX.items()},
    **_OTHER,
}
"""Primitives by the name of the call, as `usual_name` writes it."""

SCATTER_METHODS: Mapping[str, str] = {
    "set": "scatter",
    "add": "scatter-add",
    "multiply": "scatter-mul",
    "min": "scatter-min",
    "max": "scatter-max",
}
"""Primitives by the method of `x.at[index]`."""


def usual_name(dotted: str) -> str:
    """Return a full dotted name with its module replaced by the usual alias (`jax.numpy.einsum`: `jnp.einsum`)."""
    for module, alias in USUAL_ALIASES.items():
        if dotted == module or dotted.startswith(module + "."):
            return alias + dotted[len(module) :]
    return dotted
