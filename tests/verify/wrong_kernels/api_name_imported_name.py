# expect: api api_name
# a name imported from pallas.tpu that is gone

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

from jax.experimental.pallas.tpu import TPUMemorySpace


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1.0


def workload(x):
    spec = pl.BlockSpec(memory_space=TPUMemorySpace.VMEM)
    return pl.pallas_call(kernel, in_specs=[spec], out_specs=spec, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def reference(x):
    return x + 1.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
