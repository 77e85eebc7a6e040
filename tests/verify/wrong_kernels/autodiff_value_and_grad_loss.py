# expect: trace autodiff
# row 41: value_and_grad of a loss kernel with a grid

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def loss_kernel(x_ref, y_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    d = x_ref[...] - y_ref[...]
    o_ref[...] += jnp.sum(d * d, axis=0, keepdims=True)


def loss(x, y):
    spec = pl.BlockSpec((64, 128), lambda i: (i, 0))
    out = pl.pallas_call(
        loss_kernel,
        grid=(2,),
        in_specs=[spec, spec],
        out_specs=pl.BlockSpec((1, 128), lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((1, 128), x.dtype),
    )(x, y)
    return jnp.sum(out)


def workload(x, y):
    return jax.value_and_grad(loss)(x, y)


def reference(x, y):
    return (jnp.sum((x - y) ** 2), 2.0 * (x - y))


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (128, 128), jnp.float32),
        jax.random.normal(keys[1], (128, 128), jnp.float32),
    )
