# expect: lower scalar_to_vmem
# row 14: a loop that stores one value a row

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    def body(i, carry):
        o_ref[i, 0] = jnp.max(x_ref[i, :])
        return carry

    jax.lax.fori_loop(0, 8, body, 0)


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype))(x)


def reference(x):
    return jnp.zeros((8, 128)).at[:, 0].set(jnp.max(x, axis=1))


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (8, 128), jnp.float32),)
