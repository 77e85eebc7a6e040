# expect: trace specs_mismatch
# row 9: two outputs, one out spec in a list

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, mean_ref, var_ref):
    x = x_ref[...]
    mean_ref[...] = jnp.mean(x, axis=1, keepdims=True)
    var_ref[...] = jnp.var(x, axis=1, keepdims=True)


def workload(x):
    stat = jax.ShapeDtypeStruct((x.shape[0], 1), x.dtype)
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[pl.BlockSpec((64, 128), lambda i: (i, 0))],
        out_specs=[pl.BlockSpec((64, 1), lambda i: (i, 0))],
        out_shape=[stat, stat],
    )(x)


def reference(x):
    return (jnp.mean(x, axis=1, keepdims=True), jnp.var(x, axis=1, keepdims=True))


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (256, 128), jnp.float32),)
