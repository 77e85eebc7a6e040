# expect: lower unsupported_primitive
# dynamic_slice of a value

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...]
    row = jax.lax.dynamic_slice(x, (pl.program_id(0), 0), (1, 128))
    o_ref[...] = x - row


def workload(x):
    spec = pl.BlockSpec((64, 128), lambda i: (0, 0))
    return pl.pallas_call(
        kernel, grid=(1,), in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype)
    )(x)


def reference(x):
    return x - x[:1]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
