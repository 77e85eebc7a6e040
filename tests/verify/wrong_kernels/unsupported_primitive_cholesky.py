# expect: lower unsupported_primitive
# linear algebra

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    x = x_ref[...]
    gram = jnp.dot(x.T, x, preferred_element_type=jnp.float32)
    o_ref[...] = jnp.linalg.cholesky(gram)[:64, :]


def workload(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return jnp.linalg.cholesky(x.T @ x)[:64, :]


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
