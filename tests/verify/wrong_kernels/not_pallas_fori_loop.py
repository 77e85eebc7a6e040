# expect: integrity not_pallas
# a loop outside any kernel

import jax
import jax.numpy as jnp


def workload(x):
    def body(i, acc):
        return acc + jax.lax.dynamic_slice(x, (i * 8, 0), (8, 128))

    return jax.lax.fori_loop(0, 8, body, jnp.zeros((8, 128), x.dtype))


def reference(x):
    return x.reshape(8, 8, 128).sum(axis=0)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
