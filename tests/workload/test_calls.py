"""The table of primitives held against the installed JAX."""

import json
import subprocess
import sys

import pytest

from ragctx.workload.calls import PRIMITIVES_OF_CALL, usual_name

# Calls that one to three arrays of [4, 4] or [4] do not fit.
SPECIAL = {
    "lax.conv_general_dilated": "lax.conv_general_dilated(c, c, (1, 1), 'SAME')",
    "lax.conv": "lax.conv(c, c, (1, 1), 'SAME')",
    "lax.conv_transpose": "lax.conv_transpose(c, c, (1, 1), 'SAME')",
    "lax.dot_general": "lax.dot_general(x, x, (((1,), (0,)), ((), ())))",
    "lax.ragged_dot": "lax.ragged_dot(x, g, iv[:2])",
    "lax.ragged_dot_general": "lax.ragged_dot(x, g, iv[:2])",
    "lax.dynamic_slice": "lax.dynamic_slice(v, (iv[0],), (2,))",
    "lax.dynamic_slice_in_dim": "lax.dynamic_slice_in_dim(v, iv[0], 2)",
    "lax.dynamic_index_in_dim": "lax.dynamic_index_in_dim(v, iv[0])",
    "lax.dynamic_update_slice": "lax.dynamic_update_slice(v, v[:2], (iv[0],))",
    "lax.dynamic_update_slice_in_dim": "lax.dynamic_update_slice_in_dim(v, v[:2], iv[0], 0)",
    "lax.dynamic_update_index_in_dim": "lax.dynamic_update_index_in_dim(v, v[0], iv[0], 0)",
    "lax.gather": "v[iv]",
    "lax.scatter": "v.at[iv].set(v)",
    "lax.iota": "lax.iota(int, 4)",
    "lax.reduce_precision": "lax.reduce_precision(x, 5, 10)",
    "lax.select_n": "lax.select_n(x > 0, x, x)",
    "lax.select": "lax.select(x > 0, x, x)",
    "lax.top_k": "lax.top_k(x, 2)",
    "lax.approx_max_k": "lax.approx_max_k(x, 2)",
    "lax.ppermute": "mesh(lambda a: lax.ppermute(a, 'd', [(0, 1)]))",
    "lax.all_gather": "mesh(lambda a: lax.all_gather(a, 'd'))",
    "lax.all_to_all": "mesh(lambda a: lax.all_to_all(a, 'd', 1, 0))",
    "lax.psum": "mesh(lambda a: lax.psum(a, 'd'))",
    "lax.psum_scatter": "mesh(lambda a: lax.psum_scatter(a, 'd', scatter_dimension=1))",
    "jax.shard_map": "mesh(lambda a: a)",
    "lax.cond": "lax.cond(v[0] > 0, jnp.sin, jnp.cos, v)",
    "lax.fori_loop": "lax.fori_loop(0, 3, lambda i, a: a * 2, v)",
    "lax.map": "lax.map(jnp.sin, v)",
    "lax.scan": "lax.scan(lambda a, b: (a + b, a), v[0], v)",
    "lax.while_loop": "lax.while_loop(lambda a: a < 3, lambda a: a * 2, v[0])",
    "lax.reduce_window": "lax.reduce_window(v, 0.0, lambda a, b: a * b + a, (2,), (1,), 'VALID')",
    "jnp.einsum": "jnp.einsum('ij,jk', x, x)",
    "jax.random.bits": "jax.random.bits(jax.random.key(0))",
    "jax.random.normal": "jax.random.normal(jax.random.key(0))",
    "jax.random.uniform": "jax.random.uniform(jax.random.key(0))",
    "jax.ops.segment_sum": "jax.ops.segment_sum(v, iv, 4)",
    "pl.pallas_call": "pl.pallas_call(lambda a, o: None, out_shape=x)(x)",
}

SCRIPT = """
import json, sys
import jax, jax.numpy as jnp
import jax.scipy.special
from jax import lax
from jax.experimental import pallas as pl

def primitives(jaxpr, found):
    while not hasattr(jaxpr, "eqns") or hasattr(jaxpr, "jaxpr"):
        jaxpr = jaxpr.jaxpr
    for eqn in jaxpr.eqns:
        found.add(eqn.primitive.name)
        for value in eqn.params.values():
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if hasattr(item, "eqns") or hasattr(item, "jaxpr"):
                    primitives(item, found)
    return found

def of(function, *args):
    return primitives(jax.make_jaxpr(function)(*args), set())

names = {"jnp": jnp, "lax": lax, "jax": jax, "pl": pl}
shape = lambda *dims, dtype=jnp.float32: jax.ShapeDtypeStruct(dims, dtype)
x, v, i, iv = shape(4, 4), shape(4), shape(4, 4, dtype=jnp.int32), shape(4, dtype=jnp.int32)
c, g = shape(1, 2, 3, 3), shape(2, 4, 4)

def special(code):
    def run(x, v, iv, c, g):
        mesh_of = jax.sharding.AbstractMesh((2,), ("d",))
        spec = jax.sharding.PartitionSpec()
        def mesh(f):
            return jax.shard_map(f, mesh=mesh_of, in_specs=spec, out_specs=spec, check_vma=False)(x[:2, :2])
        scope = {**names, "x": x, "v": v, "iv": iv, "c": c, "g": g, "mesh": mesh}
        return eval(code, scope)
    return of(run, x, v, iv, shape(2, 2, 3, 3), g)



table, codes = json.load(sys.stdin)
wrong = {}
for name, wanted in table.items():
    found = None
    if name in codes:
        found = special(codes[name])
    else:
        function = names[name.split(".")[0]]
        for part in name.split(".")[1:]:
            function = getattr(function, part)
        for args in ((x,), (x, x), (v, v), (x, x, x), (x, iv), (v, iv), (x, i)):
            try:
                now = of(function, *args) if name != "jnp.take_along_axis" else of(lambda a, b: function(a, b, 0), x, i)
            except Exception:
                continue
            found = now if found is None or set(wanted) <= now else found
    if found is None or not set(wanted) <= found:
        wrong[name] = found and sorted(found)
print(json.dumps(wrong))
"""


@pytest.mark.slow
def test_every_call_comes_to_its_primitives() -> None:
    request = json.dumps([{name: list(primitives) for name, primitives in PRIMITIVES_OF_CALL.items()}, SPECIAL])
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
    environment = {"JAX_PLATFORMS": "cpu", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, input=request, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}


@pytest.mark.parametrize(
    ("dotted", "usual"),
    [
        ("jax.numpy.einsum", "jnp.einsum"),
        ("jax.experimental.pallas.tpu.VMEM", "pltpu.VMEM"),
        ("jax.experimental.pallas.tpu_sc.x", "plsc.x"),
        ("jax.experimental.pallas", "pl"),
        ("jax.laxative", "jax.laxative"),
        ("jax.nn.softmax", "jax.nn.softmax"),
    ],
)
def test_usual_names(dotted: str, usual: str) -> None:
    assert usual_name(dotted) == usual
