# expect: trace alias
# row 33: an update aliased to the cache's output

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(update_ref, cache_ref, o_ref):
    o_ref[...] = cache_ref[...]
    o_ref[0:8, :] = update_ref[...]


def workload(update, cache):
    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(cache.shape, cache.dtype), input_output_aliases={0: 0}
    )(update, cache)


def reference(update, cache):
    return cache.at[0:8].set(update)


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    return (
        jax.random.normal(keys[0], (8, 128), jnp.float32),
        jax.random.normal(keys[1], (64, 128), jnp.float32),
    )
