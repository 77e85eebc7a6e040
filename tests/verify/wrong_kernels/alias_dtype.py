# expect: trace alias
# row 33: a bfloat16 input aliased to a float32 output

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...].astype(jnp.float32) * 2.0


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, jnp.float32), input_output_aliases={0: 0})(x)


def reference(x):
    return x.astype(jnp.float32) * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128)).astype(jnp.bfloat16),)
