"""Imports a candidate and traces it for each target; leaves the programs for the judge. Runs sandboxed.

Run as `python -I verify_trace.py REQUEST.json REPORT.json FOLDER`; needs the standard library, numpy and jax. The
candidate's own code runs here and only here, and sees shapes: no input values, no reference. Nothing this process
reports can make a candidate pass; programs are what the judge judges, and errors count against the candidate.

Request: `{"candidate", "targets": {name: [device kind, cores]}, "sizes": {"config", "check"}, "inputs": {"config",
"check"}, "mesh", "specs", "lower": bool}`.
Report: `{"stage", "error", "programs": {target: name}, "check": name or null, "check_error", "outputs", "structure",
"seconds"}`.
"""

import hashlib
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import jax
import jax.extend
import jax.numpy
import program_codec as codec
import verify_files as files
import verify_workload as workloads
from jax.experimental import pallas  # noqa: F401 - candidates expect it loaded, and the codec finds its primitives
from jax.experimental.pallas import tpu  # noqa: F401
from verify_reference import inside_shard_map

# What stands for an exception where the file defines nothing to call.
ENTRY_POINT = "EntryPoint"


class Tracer:
    """One candidate being traced."""

    def __init__(self, request, report, folder):
        self.request, self.report, self.folder = request, report, folder
        self.path, self.module, self.names = request["candidate"], None, {}

    def run(self):
        """Go up the ladder as far as it goes; each stage is on disk before it is entered."""
        self.enter("import")
        pretend_tpu(*next(iter(self.request["targets"].values())))
        self.module = workloads.load(self.path, "candidate")
        if workloads.entry_point(self.module) is None:
            self.report.save(error={"type": ENTRY_POINT, "message": "the file defines no workload()", "line": None})
            return
        self.enter("trace")
        programs = {name: self.trace("config", *device) for name, device in self.request["targets"].items()}
        saved = {name: self.save(closed) for name, (closed, _) in programs.items()}
        first, out = next(iter(programs.values()))
        self.report.save(
            programs=saved,
            outputs=files.leaf_types(first.out_avals),
            structure=files.structure(jax.tree.structure(out)),
        )
        self.trace_check()
        if self.request["lower"] and not self.request["mesh"]:
            self.enter("lower")
            done = set()
            for name, device in self.request["targets"].items():
                self.report.save(target=name)
                if saved[name] not in done or len(done) > 1:
                    self.lower(programs[name][0], *device)
                done.add(saved[name])
        self.enter("done")

    def enter(self, stage):
        """Record that a stage begins, and what the last one took."""
        self.report.value["seconds"][stage] = time.process_time()
        self.report.save(stage=stage)

    def trace(self, side, device_kind, cores):
        """Return (closed jaxpr, abstract result) at CONFIG or CHECK sizes for one target."""
        jax.clear_caches()
        inputs = files.build_tree(self.request["inputs"][side])
        leaves, tree = jax.tree.flatten(inputs, is_leaf=lambda leaf: leaf is None)
        arrays = [leaf for leaf in leaves if not workloads.is_static(leaf)]
        overrides = workloads.matching(self.module, self.request["sizes"][side])
        with workloads.sizes(self.module, overrides), workloads.tpu_in_context(device_kind, cores):
            function = workloads.entry_point(self.module)
            if not self.request["mesh"]:
                return jax.make_jaxpr(workloads.flat(function, leaves, tree), return_shape=True)(*arrays)
        with workloads.sizes(self.module, overrides):
            return self.trace_on_mesh(function, leaves, tree, arrays, device_kind, cores)

    def trace_on_mesh(self, function, leaves, tree, arrays, device_kind, cores):
        axes = self.request["mesh"]
        mesh = workloads.tpu_mesh(axes, device_kind, cores)
        specs = Specs(self.request["specs"])
        ins, outs = workloads.partition_specs(specs, tree.num_leaves if tree.num_leaves == len(leaves) else 1)
        mapped = workloads.shard_map(function, mesh, ins, outs)
        outer, out = jax.make_jaxpr(workloads.flat(mapped, leaves, tree), return_shape=True)(*arrays)
        return jax.extend.core.ClosedJaxpr(inside_shard_map(outer), ()), out

    def trace_check(self):
        """Trace at CHECK sizes for the first target; what fails only there is told apart from failing at CONFIG."""
        device = next(iter(self.request["targets"].values()))
        self.enter("trace_check")
        try:
            closed, _ = self.trace("check", *device)
        except Exception as error:
            self.report.save(check_error=files.error_of(error, self.path))
            return
        self.report.save(check=self.save(closed), check_outputs=files.leaf_types(closed.out_avals))

    def save(self, closed):
        """Write a program and return its name; equal programs share one."""
        nodes, blob = codec.encode(closed, self.path)
        digest = hashlib.sha256(json.dumps(nodes).encode() + blob).hexdigest()[:16]
        if digest not in self.names:
            self.names[digest] = f"program-{len(self.names)}"
            files.write_program(self.folder, self.names[digest], nodes, blob)
        return self.names[digest]

    def lower(self, closed, device_kind, cores):
        """Lower for a TPU, only to fail where the candidate's own lines are still known; the judge lowers again."""
        with workloads.tpu_in_context(device_kind, cores):
            run = jax.extend.core.jaxpr_as_fun(closed)
            jax.jit(run).trace(*closed.in_avals).lower(lowering_platforms=("tpu",))


class Specs:
    """IN_SPECS and OUT_SPEC as the workload wrote them."""

    def __init__(self, request):
        self.IN_SPECS = _from_json(request["IN_SPECS"])
        self.OUT_SPEC = _from_json(request["OUT_SPEC"])


def _from_json(value):
    if isinstance(value, dict):
        return tuple(_from_json(v) for v in value["dims"])
    return [_from_json(v) for v in value] if isinstance(value, list) else value


class PretendDevice:
    """What a candidate sees when it asks which device it runs on."""

    platform, id, process_index, client = "tpu", 0, 0, None

    def __init__(self, device_kind, cores):
        self.device_kind, self.num_cores, self.core_on_chip, self.coords = device_kind, cores, 0, (0, 0, 0)

    def __repr__(self):
        return f"TpuDevice(id=0, {self.device_kind})"


def pretend_tpu(device_kind, cores):
    """Answer a candidate's questions about its device as a TPU would: `interpret=jax.default_backend() != "tpu"`."""
    device = PretendDevice(device_kind, cores)
    jax.default_backend = lambda: "tpu"
    jax.devices = jax.local_devices = lambda *args, **kwargs: [device]
    jax.device_count = jax.local_device_count = lambda *args, **kwargs: 1


def main(request_path, report_path, folder):
    """Read the request and leave report and programs."""
    with open(request_path, encoding="utf-8") as stream:
        request = json.load(stream)
    report = files.Report(report_path, stage="start", error=None, programs={}, check=None, check_error=None, seconds={})
    report.save(versions=files.versions())
    try:
        Tracer(request, report, folder).run()
    except BaseException as error:
        report.save(error=files.error_of(error, request["candidate"]))
    sys.stdout.flush()
    os._exit(0)  # threads and exit handlers of the candidate have nothing to add


if __name__ == "__main__":
    main(*sys.argv[1:])
