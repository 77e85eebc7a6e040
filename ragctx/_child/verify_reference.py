"""Describes a workload: sizes, shapes, result types and operation counts at CONFIG and at CHECK, for `ragctx.verify`.

Run as `python -I verify_reference.py REQUEST.json ANSWER.json`; needs the standard library, numpy and jax. It runs the
workload's code, which is trusted, abstractly: nothing is allocated at the workload's sizes.

Request: `{"workload": path}`.
Answer: `{"versions", "sizes": {"config", "check"}, "overrides", "mesh", "specs", "flat_specs", "config": side, "check":
side, "error"}`, a side being `{"inputs": tree, "global_inputs", "local_inputs", "outputs": [[dtype, shape]],
"structure", "flops", "elements", "depends": whether each output depends on any input, "unused": inputs none depends on,
"narrowest": bits of the narrowest float arithmetic or array}`; with MESH_AXES `local_inputs` and `outputs` are those of
one device.
"""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import jax
import program_facts
import verify_files as files
import verify_integrity as integrity
import verify_workload as workloads
from program import Program, plain, sub_jaxprs


def main(request_path, answer_path):
    """Read the request and leave the answer; what goes wrong stands in its `error`."""
    with open(request_path, encoding="utf-8") as stream:
        request = json.load(stream)
    answer = files.Report(answer_path, versions=files.versions(), error=None)
    path = request["workload"]
    try:
        module = workloads.load(path, "ragctx_workload")
        answer.save(**describe(module))
    except BaseException as error:
        answer.save(error=files.error_of(error, path))


def describe(module):
    """Return the answer for a loaded workload."""
    check = dict(getattr(module, "CHECK", None) or {})
    axes = dict(getattr(module, "MESH_AXES", None) or {})
    here = {"config": side(module, axes)}
    with workloads.sizes(module, check):
        here["check"] = side(module, axes)
    config = dict(getattr(module, "CONFIG", None) or {})
    here["sizes"] = {"config": workloads.plain_sizes(config), "check": workloads.plain_sizes(config | check)}
    here["overrides"] = workloads.plain_sizes(check)
    here["mesh"] = axes
    here["flat_specs"] = flat_specs(module, here["config"])
    here["specs"] = {name: _specs(getattr(module, name, None)) for name in ("IN_SPECS", "OUT_SPEC")}
    return here


def side(module, axes):
    """Return the description at the module's present sizes."""
    leaves, tree = workloads.abstract_inputs(module)
    function = workloads.entry_point(module)
    if function is None:
        raise TypeError("the workload file defines neither workload() nor Model")
    closed, out = trace(module, function, leaves, tree, axes)
    body = plain(closed)
    arrays = [leaf for leaf in leaves if not workloads.is_static(leaf)]
    program = Program(closed, program_facts.flops)
    flops = sum(program_facts.flops(op) * op.times for op in program.ops if op.live)
    elements = sum(program_facts.size(v.aval) for v in (*body.invars, *body.outvars))
    return {
        "inputs": files.describe_tree(leaves, tree),
        "global_inputs": files.leaf_types(arrays),
        "local_inputs": files.leaf_types([v.aval for v in body.invars]),
        "outputs": files.leaf_types([v.aval for v in body.outvars]),
        "structure": files.structure(jax.tree.structure(out)),
        "flops": int(flops),
        "elements": int(elements),
        "depends": integrity.depends_on(closed),
        "unused": integrity.unused_inputs(closed),
        "narrowest": narrowest(closed, body),
    }


def narrowest(closed, body):
    """Return the bits of the narrowest float arithmetic or array of the reference, or None."""
    found = integrity.narrowest(closed)
    arrays = integrity.narrowest_array([v.aval for v in (*body.invars, *body.outvars)])
    return min((bits for bits in (found and found[0], arrays) if bits), default=None)


def flat_specs(module, config):
    """Return IN_SPECS and OUT_SPEC as one entry an array, as JSON."""
    stated = getattr(module, "IN_SPECS", None)
    (kind,) = [k for k in config["inputs"] if k in ("tuple", "list")]
    ins = []
    for number, node in enumerate(config["inputs"][kind]):
        spec = stated[number] if stated is not None else None
        ins += [_specs(spec)] * _arrays(node)
    out = getattr(module, "OUT_SPEC", None)
    count = len(config["outputs"])
    outs = [_specs(v) for v in out] if isinstance(out, list) else [_specs(out)] * count
    return {"in": ins, "out": outs}


def _arrays(node):
    """Return how many arrays a described input holds."""
    if "shape" in node:
        return 1
    inner = next(iter(node.values()))
    items = inner.values() if isinstance(inner, dict) else inner if isinstance(inner, list) else ()
    return sum(_arrays(item) for item in items)


def trace(module, function, leaves, tree, axes):
    """Return (jaxpr, abstract result); with MESH_AXES, of what one device runs."""
    arrays = [leaf for leaf in leaves if not workloads.is_static(leaf)]
    if not axes:
        return jax.make_jaxpr(workloads.flat(function, leaves, tree), return_shape=True)(*arrays)
    mesh = jax.sharding.AbstractMesh(tuple(axes.values()), tuple(axes))
    args = jax.tree.unflatten(tree, leaves)
    ins, outs = workloads.partition_specs(module, len(args))
    mapped = workloads.shard_map(function, mesh, ins, outs)
    outer, out = jax.make_jaxpr(workloads.flat(mapped, leaves, tree), return_shape=True)(*arrays)
    return inside_shard_map(outer), out


def inside_shard_map(outer):
    """Return the program of one device, a jaxpr, from the one that maps it over the mesh."""
    (eqn,) = [eqn for eqn in plain(outer).eqns if eqn.primitive.name == "shard_map"]
    return sub_jaxprs(eqn.params)[0]


def _specs(value):
    """Return IN_SPECS or OUT_SPEC as JSON: tuples become {"dims": [...]}."""
    if isinstance(value, tuple):
        return {"dims": [_specs(v) for v in value]}
    return [_specs(v) for v in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
