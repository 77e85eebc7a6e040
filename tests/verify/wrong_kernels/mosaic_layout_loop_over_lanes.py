# expect: compile mosaic_layout
# row 18: a loop over windows of lanes

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    def body(j, acc):
        return acc + x_ref[:, pl.dslice(j, 128)]

    o_ref[...] = jax.lax.fori_loop(0, 3, body, jnp.zeros((64, 128), jnp.float32))


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 128), x.dtype))(x)


def reference(x):
    return sum(x[:, j : j + 128] for j in range(3))


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 256), jnp.float32),)
