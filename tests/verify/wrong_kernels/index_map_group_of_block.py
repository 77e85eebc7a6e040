# expect: trace index_map
# row 8: group offsets captured by a named index map

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def workload(x, w, groups):
    def kernel(x_ref, w_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], w_ref[0], preferred_element_type=jnp.float32)

    def weight_map(i):
        return groups[i], 0, 0

    return pl.pallas_call(
        kernel,
        grid=(2,),
        in_specs=[pl.BlockSpec((128, 128), lambda i: (i, 0)), pl.BlockSpec((1, 128, 128), weight_map)],
        out_specs=pl.BlockSpec((128, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((256, 128), jnp.float32),
    )(x, w)


def reference(x, w, groups):
    return jnp.concatenate([x[:128] @ w[groups[0]], x[128:] @ w[groups[1]]])


def create_inputs(seed=0):
    keys = jax.random.split(jax.random.key(seed), 3)
    return (
        jax.random.normal(keys[0], (256, 128), jnp.float32),
        jax.random.normal(keys[1], (3, 128, 128), jnp.float32),
        jax.random.randint(keys[2], (2,), 0, 3, jnp.int32),
    )
