"""Four devices: every one gets the shards of all."""

import jax
import jax.numpy as jnp

CONFIG = {"rows": 256, "width": 128}
CHECK = {"rows": 32}
MESH_AXES = {"x": 4}
IN_SPECS = ["x"]
OUT_SPEC = None


def create_inputs(dtype=jnp.float32, seed=0):
    return (jax.random.normal(jax.random.key(seed), (CONFIG["rows"], CONFIG["width"]), dtype),)


def workload(x):
    return jax.lax.all_gather(x, "x", tiled=True)
