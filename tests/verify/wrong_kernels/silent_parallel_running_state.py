# expect: numerics wrong_values
# 'parallel' on an axis that carries state in scratch

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, o_ref, carry_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        carry_ref[...] = jnp.zeros_like(carry_ref)

    carry_ref[...] = 0.5 * carry_ref[...] + x_ref[...]
    o_ref[...] = carry_ref[...]


def workload(x):
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(4,),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=(pltpu.PARALLEL,)),
    )(x)


def reference(x):
    return jax.lax.scan(lambda c, b: (0.5 * c + b,) * 2, jnp.zeros((8, 128)), x.reshape(4, 8, 128))[1].reshape(32, 128)


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (32, 128), jnp.float32),)
