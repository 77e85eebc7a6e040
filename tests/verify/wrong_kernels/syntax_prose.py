# expect: parse syntax
# an answer in words around the code

import jax
import jax.numpy as jnp


Here is the optimised kernel:

```python
def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def reference(x):
    return x * 2.0


def create_inputs(seed=0):
    return (jax.random.normal(jax.random.key(seed), (64, 128), jnp.float32),)
