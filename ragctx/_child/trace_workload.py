"""Traces a workload file to a jaxpr on abstract inputs and answers what the program tells.

Run by path as `python -I trace_workload.py REQUEST.json ANSWER.json`. Request: {"path": file}. Answer: {"stage": "done"
or where it failed ("jax", "import", "inputs", "trace"), "error": {"type", "message", "line"}, ...facts}. JAX allocates
nothing at the workload's sizes, uses no device and compiles nothing.
"""

import contextlib
import importlib.util
import inspect
import json
import os
import sys
import traceback

_HERE = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    """A stage failed; the cause is the exception it failed with."""

    def __init__(self, stage):
        self.stage = stage
        super().__init__(stage)


@contextlib.contextmanager
def stage(name):
    """Turn whatever a workload raises (SystemExit too) into `Failed`."""
    try:
        yield
    except Failed:
        raise
    except BaseException as error:
        raise Failed(name) from error


def load(path):
    """Run a workload file and return its module; its folder is importable, after everything installed."""
    sys.path.append(os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("ragctx_workload", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def abstract_inputs(jax, module):
    """Return the inputs' shapes and types; required `dtype` and `seed` parameters get their usual values."""
    usual = {"dtype": jax.numpy.bfloat16, "seed": 0}
    parameters = inspect.signature(module.create_inputs).parameters.values()
    given = {p.name: usual[p.name] for p in parameters if p.default is p.empty and p.name in usual}
    inputs = jax.eval_shape(lambda: module.create_inputs(**given))
    return tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)


def spec_of(jax, value):
    """Return the PartitionSpec of one entry of IN_SPECS or of OUT_SPEC."""
    if value is None or isinstance(value, str):
        return jax.sharding.PartitionSpec(value) if value else jax.sharding.PartitionSpec()
    return jax.sharding.PartitionSpec(*value)


def on_mesh(jax, module, inputs):
    """Return the workload wrapped to run as one device of its mesh does."""
    axes = module.MESH_AXES
    mesh = jax.sharding.AbstractMesh(tuple(axes.values()), tuple(axes))
    in_specs = tuple(spec_of(jax, value) for value in getattr(module, "IN_SPECS", [None] * len(inputs)))
    out = getattr(module, "OUT_SPEC", None)
    out_specs = tuple(spec_of(jax, value) for value in out) if isinstance(out, list) else spec_of(jax, out)
    return jax.shard_map(module.workload, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)


def trace(jax, module, inputs):
    """Return the jaxpr of the workload; with MESH_AXES, of what one device runs."""
    if not getattr(module, "MESH_AXES", None):
        return jax.make_jaxpr(module.workload)(*inputs)
    from program import plain, sub_jaxprs

    outer = plain(jax.make_jaxpr(on_mesh(jax, module, inputs))(*inputs))
    (eqn,) = [eqn for eqn in outer.eqns if eqn.primitive.name == "shard_map"]
    return sub_jaxprs(eqn.params)[0]


def input_names(jax, module, inputs):
    """Return a name for each input array: the parameter's, with the path into it if it is a tree."""
    try:
        parameters = list(inspect.signature(module.workload).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = []
    for i, value in enumerate(inputs):
        base = positional[i] if i < len(positional) else f"inputs[{i}]"
        leaves, _ = jax.tree_util.tree_flatten_with_path(value)
        names.extend(base + jax.tree_util.keystr(path) for path, _ in leaves)
    return names


def arrays(names, avals, facts):
    """Return name, shape, dtype and bytes of each array."""
    return [
        {"name": name, "shape": list(aval.shape), "dtype": str(aval.dtype), "bytes": facts.array_bytes(aval)}
        for name, aval in zip(names, avals, strict=True)
    ]


def output_names(avals):
    """Return `output`, or `output[i]` for several."""
    return ["output"] if len(avals) == 1 else [f"output[{i}]" for i in range(len(avals))]


def describe(jax, module, facts, program_class):
    """Return the facts at the module's present sizes."""
    with stage("inputs"):
        inputs = abstract_inputs(jax, module)
    with stage("trace"):
        program = program_class(trace(jax, module, inputs), facts.flops)
    names = input_names(jax, module, inputs)
    ops = facts.real_ops(program)
    total = sum(facts.flops(op) * op.times for op in ops)
    primitives = facts.count_primitives(ops)
    matmul = sum(facts.flops(op) * op.times for op in ops if op.name in facts.MATMULS)
    return {
        "inputs": arrays(names, program.input_avals, facts),
        "outputs": arrays(output_names(program.output_avals), program.output_avals, facts),
        "primitives": primitives,
        "flops": total,
        "matmul_flops": matmul,
        "uncounted": [name for name in primitives if name in facts.UNCOUNTED],
        "collectives": [name for name in primitives if name in facts.COLLECTIVES],
        "compute_dtype": facts.compute_dtype(ops),
        "intermediates": facts.intermediates(program, ops),
        "reductions": facts.reductions(program, ops),
        "loops": facts.loops(program, ops, total),
        "data_dependent": facts.data_dependent(ops, facts.Dependences(program), names),
    }


def shapes_at_check(jax, module):
    """Return the shapes of inputs and outputs at CHECK sizes."""
    module.CONFIG.update(module.CHECK)
    with stage("inputs"):
        inputs = abstract_inputs(jax, module)
    with stage("trace"):
        jaxpr = trace(jax, module, inputs)
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    return {
        "inputs": [list(var.aval.shape) for var in jaxpr.invars],
        "outputs": [list(var.aval.shape) for var in jaxpr.outvars],
    }


def plain_value(value):
    """Return a CONFIG value as JSON can hold it; others by their text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain_value(item) for key, item in value.items()}
    return getattr(value, "__name__", None) or str(value)


def error_of(failed, path):
    """Return type, first line of the message, and the last line number in the workload file."""
    cause = failed.__cause__
    lines = [frame.lineno for frame in traceback.extract_tb(cause.__traceback__) if frame.filename == path]
    message = next((line.strip() for line in str(cause).splitlines() if line.strip()), "")
    return {"type": type(cause).__name__, "message": message[:500], "line": lines[-1] if lines else None}


def answer_to(request):
    """Return the answer to a request."""
    path, answer = request["path"], {"stage": "done"}
    try:
        with stage("jax"):
            import jax
            import jax.numpy
        answer["versions"] = {"jax": jax.__version__}
        sys.path.insert(0, _HERE)
        import program_facts
        from program import Program

        sys.path.remove(_HERE)
        with stage("import"):
            module = load(path)
        config = getattr(module, "CONFIG", {})
        with stage("import"):
            if not isinstance(config, dict):
                raise TypeError(f"CONFIG is a {type(config).__name__}, not a dict")
        answer["config"] = plain_value(config)
        answer["check"] = plain_value(getattr(module, "CHECK", None) or {})
        answer["mesh"] = plain_value(getattr(module, "MESH_AXES", None) or {})
        answer["program"] = describe(jax, module, program_facts, Program)
        if answer["check"]:
            try:
                answer["at_check"] = shapes_at_check(jax, module)
            except Failed as failed:
                answer["check_error"] = error_of(failed, path)
    except Failed as failed:
        answer |= {"stage": failed.stage, "error": error_of(failed, path)}
    return answer


def main():
    """Read the request, write the answer."""
    with open(sys.argv[1], encoding="utf-8") as stream:
        request = json.load(stream)
    answer = answer_to(request)
    with open(sys.argv[2], "w", encoding="utf-8") as stream:
        json.dump(answer, stream)


if __name__ == "__main__":
    main()
