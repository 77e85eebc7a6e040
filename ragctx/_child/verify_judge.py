"""Judges the programs a candidate's process left: lowers, compiles, runs and counts them. Runs none of its code.

Run as `python -I verify_judge.py REQUEST.json REPORT.json FOLDER`, FOLDER holding the encoded programs; needs the
standard library, numpy and jax. Everything is derived from programs that are decoded here, so that what the candidate's
process patched, printed or claimed has no say. The workload's own code, which is trusted, makes inputs and expected
outputs here, for the given seeds and one more that follows from the programs' bytes: it cannot be known before them.

Request: `{"workload", "overrides", "targets": {name: {"topology", "device", "cores", "hbm_bytes"}}, "programs":
{target: name}, "check": name or null, "expected": {"config", "check"}, "seeds", "mesh", "flat_specs",
"cpu_s": {stage: seconds}, "stages", "min_pallas_share", "config_cpu_s"}`.
Report: `{"stage", "target", "failure": {"stage", "kind", "error"} or null, "compiled": {target: figures}, "seeds",
"mismatch", "notes", "pallas_share", "skipped": {stage: reason}, "seconds": {stage: CPU-seconds}}`.
"""

import hashlib
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import jax
import jax.extend
import program_codec as codec
import verify_files as files
import verify_inputs
import verify_integrity as integrity
import verify_numerics as numerics
import verify_workload as workloads
from jax.experimental import topologies
from jax.experimental.pallas import tpu  # noqa: F401 - registers the primitives that programs name
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding

# What is raised in other stages is raised by the judge's own work on the program.
CANDIDATES_FAULT = ("lower", "compile", "numerics")


class Failure(Exception):
    """The candidate failed a stage; `kind` is null where the message decides."""

    def __init__(self, kind, message, type_="Verify"):
        self.kind, self.error = kind, {"type": type_, "message": message, "line": None}
        super().__init__(message)


class Undecided(Exception):
    """ragctx cannot judge; no fault of the candidate's."""


class Judge:
    """One judgement, and the report of it as it grows."""

    def __init__(self, request, report, folder):
        self.request, self.report, self.folder = request, report, folder
        self.mesh, self.stage, self.closed = request["mesh"], "start", {}
        self.workload, self.compared_at_config = None, False

    # --- stages ---

    def run(self):
        """Go up the ladder; the report says where it ended."""
        self.enter("trace")
        for target, name in self.request["programs"].items():
            self.check_types(self.decode(name, target), self.request["expected"]["config"])
        for target, name in self.request["programs"].items():
            self.compile(target, name)
        if "numerics" in self.request["stages"]:
            self.enter("numerics")
            self.run_numerics()
        if "integrity" in self.request["stages"]:
            self.enter("integrity")
            self.check_integrity()
        self.enter("done")

    def enter(self, stage, target=None):
        """Record that a stage begins, what the last one took, and give it its CPU-seconds."""
        now = time.process_time()
        seconds = self.report.value["seconds"]
        if self.stage in seconds or self.stage != "start":
            seconds[self.stage] = seconds.get(self.stage, 0.0) + now - self.entered
        self.stage, self.entered = stage, now
        # The default action of SIGPROF ends the process, even inside the compiler; the report says in which stage.
        signal.setitimer(signal.ITIMER_PROF, float(self.request["cpu_s"].get(stage, 0)))
        self.report.save(stage=stage, target=target)

    def note(self, text):
        """Add a note, once."""
        if text not in self.report.value["notes"]:
            self.report.value["notes"].append(text)

    # --- programs ---

    def decode(self, name, target=None):
        """Return a program as a closed jaxpr, in the context of a target's device."""
        nodes, blob = files.read_program(self.folder, name)
        about = self.request["targets"][target or self.first()]
        with workloads.tpu_in_context(about["device"], about["cores"]):
            try:
                return codec.decode(nodes, blob)
            except codec.Refused as error:
                raise Failure("cheating", f"the program left behind is not one that tracing makes: {error}") from error
            except codec.Unsupported as error:
                raise Undecided(f"the program left behind cannot be read: {error}") from error

    def first(self):
        """Return the first target's name."""
        return next(iter(self.request["targets"]))

    def check_types(self, closed, expected):
        """Hold a program's inputs and results to the reference's."""
        outputs = files.leaf_types(closed.out_avals)
        if outputs != expected["outputs"]:
            raise Failure("wrong_type", wrong_type(outputs, expected["outputs"]))
        inputs = files.leaf_types(closed.in_avals)
        if inputs != expected["local_inputs"]:
            raise Failure(
                "cheating", f"the program left behind takes {inputs}, the workload {expected['local_inputs']}"
            )

    def compile(self, target, name):
        """Lower and compile one program for one target."""
        about = self.request["targets"][target]
        if "lower" not in self.request["stages"]:
            return
        self.enter("lower", target)
        devices = self.topology(about)
        closed = numerics.with_interpret(self.decode(name, target), False)
        with workloads.tpu_in_context(about["device"], about["cores"]):
            function, args = self.placed(closed, devices)
        if self.mesh:
            lowered = jax.jit(function, keep_unused=True).trace(*args).lower(lowering_platforms=("tpu",))
        else:
            with workloads.tpu_in_context(about["device"], about["cores"]):
                lowered = jax.jit(function, keep_unused=True).trace(*args).lower(lowering_platforms=("tpu",))
        if "compile" not in self.request["stages"]:
            return
        self.enter("compile", target)
        compiled = lowered.compile()
        self.after_compile(compiled, closed, target)

    def topology(self, about):
        """Return the devices to compile for."""
        need = 1
        for size in self.mesh.values():
            need *= size
        found = topologies.get_topology_desc(topology_name=about["topology"], platform="tpu").devices
        if need > len(found):
            raise Undecided(f"the mesh needs {need} devices, the topology {about['topology']} has {len(found)}")
        return found[:need]

    def placed(self, closed, devices):
        """Return (function, abstract inputs) of a program on devices; on a mesh, mapped over it."""
        run = jax.extend.core.jaxpr_as_fun(closed)
        if not self.mesh:
            sharding = SingleDeviceSharding(devices[0])
            return run, [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding) for a in closed.in_avals]
        mesh = mesh_of(devices, self.mesh)
        ins, outs = self.flat_specs()
        args = [
            jax.ShapeDtypeStruct(tuple(shape), files.dtype_of(dtype), sharding=NamedSharding(mesh, spec))
            for (dtype, shape), spec in zip(self.request["expected"]["config"]["global_inputs"], ins, strict=True)
        ]
        return workloads.shard_map(lambda *xs: list(run(*xs)), mesh, tuple(ins), outs), args

    def after_compile(self, compiled, closed, target):
        """Record what the compiler says of memory and cost, and hold memory to what the device has."""
        memory = compiled.memory_analysis()
        figures = {
            "argument_bytes": memory.argument_size_in_bytes,
            "output_bytes": memory.output_size_in_bytes,
            "temporary_bytes": memory.temp_size_in_bytes,
            "alias_bytes": memory.alias_size_in_bytes,
        }
        self.report.value["compiled"][target] = figures
        self.report.save()
        need = figures["argument_bytes"] + figures["output_bytes"] + figures["temporary_bytes"] - figures["alias_bytes"]
        has = self.request["targets"][target]["hbm_bytes"]
        if need > has:
            raise Failure("hbm_oom", f"needs {need / 2**30:.2f} GiB of HBM, {target} has {has / 2**30:.2f} GiB")
        if need > 0.8 * has:
            self.note(
                f"needs {need / 2**30:.2f} of {target}'s {has / 2**30:.2f} GiB of HBM: little room for anything else"
            )
        # Last: some libtpu versions abort the process here, and then all the above is on disk.
        cost = compiled.cost_analysis() or {}
        cost = cost[0] if isinstance(cost, list) else cost
        figures["cost"] = {
            k.replace(" ", "_"): cost[k] for k in ("flops", "bytes accessed", "optimal_seconds") if k in cost
        }

    # --- numerics ---

    def run_numerics(self):
        """Compare the program with the reference on every seed, then look for races and early reads on one."""
        side, name = "check", self.request["check"]
        if name is None:
            side, name = "config", self.specialised()
            if name is None:
                return
        if side == "check" and self.hard_coded(name):
            side, name = "config", self.specialised()
            if name is None:
                return
        expected = self.request["expected"][side]
        self.check_types(self.decode(name), expected)
        self.workload = workloads.load(self.request["workload"], "ragctx_workload")
        overrides = self.request["overrides"] if side == "check" else {}
        reference = self.reference(overrides, expected)
        seeds = [*self.request["seeds"], self.unknown_seed()]
        self.compare_seeds(name, reference, seeds)
        self.look_for_races(name, reference, seeds[0])
        if side == "check" and self.other_operations():
            self.compare_at_config()

    def hard_coded(self, name):
        """Return whether the program at CHECK is shaped for CONFIG: by its results, its blocks or its grid."""
        closed = self.decode(name)
        if files.leaf_types(closed.out_avals) != self.request["expected"]["check"]["outputs"]:
            return True
        at_config = self.decode(self.request["programs"][self.first()])
        return integrity.fits_there_only(at_config, closed)

    def specialised(self):
        """Return the program to run where tracing at CHECK failed: the one at CONFIG if that is affordable."""
        estimate, most = self.config_cpu_s(), self.request["config_cpu_s"]
        if estimate > most:
            self.report.value["skipped"]["numerics"] = "size_specialised"
            self.note(f"works only at CONFIG sizes, where numerics would take about {estimate:.0f} CPU-seconds")
            return None
        self.note("works only at CONFIG sizes: numerics ran there")
        return self.request["programs"][self.first()]

    def config_cpu_s(self):
        """Estimate the CPU-seconds of numerics at CONFIG: 2 GFLOP/s, 20 million elements a second, 5 ms a grid step."""
        side = self.request["expected"]["config"]
        steps = numerics.grid_steps(self.decode(self.request["programs"][self.first()]).jaxpr)
        runs = len(self.request["seeds"]) + 3
        return runs * (side["flops"] / 2e9 + side["elements"] / 2e7 + steps * 5e-3)

    def reference(self, overrides, expected):
        """Return the workload's inputs and outputs; what goes wrong there is not the candidate's fault."""
        try:
            tolerances = numerics.tolerances(self.workload, expected["outputs"])
            found = verify_inputs.Reference(self.workload, overrides, tolerances, self.mapped)
            found.prepare(self.request["seeds"])
        except Exception as error:
            raise Undecided(
                f"the workload cannot be run at its CHECK sizes: {type(error).__name__}: {error}"
            ) from error
        for line in found.notes:
            self.note(line)
        return found

    def unknown_seed(self):
        """Return a seed that follows from the programs' bytes, so that no program can have been made for it."""
        digest = hashlib.sha256()
        for name in sorted({*self.request["programs"].values(), self.request["check"] or ""} - {""}):
            for suffix in ("json", "bin"):
                with open(os.path.join(self.folder, f"{name}.{suffix}"), "rb") as stream:
                    digest.update(hashlib.sha256(stream.read()).digest())
        return 1_000 + int.from_bytes(digest.digest()[:3], "big")

    def runner(self, name, **options):
        """Return a runner of a freshly decoded program."""
        about = self.request["targets"][self.first()]
        device = None if self.mesh else (about["device"], about["cores"])
        options = {"uninitialized_memory": "nan", "out_of_bounds_reads": "raise", "random_seed": 0} | options
        return numerics.Runner(self.decode(name), device, self.mapped, **options)

    def mapped(self, function):
        """Return a function of flat arrays mapped over the simulated devices, if the workload has a mesh."""
        if not self.mesh:
            return function
        ins, outs = self.flat_specs()
        mesh = mesh_of(jax.devices("cpu"), self.mesh)
        inner = workloads.shard_map(lambda *xs: jax.tree.leaves(function(*xs)), mesh, tuple(ins), outs)

        def run(*arrays):
            # A leading dimension for the devices: every one's output is compared, replicated ones too.
            return inner(*arrays)

        return run

    def compare_seeds(self, name, reference, seeds):
        """Run every seed with memory poisoned and compare; one compilation."""
        run = self.runner(name)
        rounded = self.rounded_from_floats()
        for seed in seeds:
            arrays = reference.inputs(seed)
            want = reference.outputs(arrays)
            got, printed = run(arrays)
            self.look_at_log(printed)
            wrong = self.compare(got, want, reference.tolerances, rounded)
            if wrong:
                self.fail_values(name, arrays, got, wrong, seed, known=seed in self.request["seeds"])
            if seed not in self.report.value["seeds"]:
                self.report.value["seeds"].append(seed)
            self.report.save()

    def compare(self, got, want, tolerances, rounded):
        """Return {output number: (mask, detail)} of what differs."""
        found = {}
        for number, (g, w, tolerance) in enumerate(zip(got, want, tolerances, strict=True)):
            if (g.shape, g.dtype) != (w.shape, w.dtype):
                raise Failure(
                    "wrong_type", f"output {number} is {g.dtype}{list(g.shape)}, expected {w.dtype}{list(w.shape)}"
                )
            wrong, note, detail = numerics.compare(g, w, tolerance, rounded)
            if note:
                self.note(f"output {number}: {note}")
            if wrong is not None:
                found[number] = (wrong, {"output": number, "atol": tolerance[0], "rtol": tolerance[1], **detail})
        return found

    def rounded_from_floats(self):
        """Return whether floating-point numbers take part in the reference's outputs."""
        kinds = [dtype for dtype, _ in self.request["expected"]["check"]["global_inputs"]]
        return any(integrity.float_width(dtype) for dtype in kinds)

    def fail_values(self, name, arrays, got, wrong, seed, known):
        """Say why values are wrong: a race, memory nobody wrote (other poison changes it), or else just wrong."""
        self.report.value["mismatch"] = [{"seed": seed, **detail} for _, detail in wrong.values()]
        self.report.save()
        number, (_, detail) = next(iter(wrong.items()))
        text = (
            f"output {number}: {detail['count']} of {detail['size']} values are wrong "
            f"(atol {detail['atol']:.3g}, rtol {detail['rtol']:.3g}); worst at {detail['worst']}: "
            f"{detail['got']} instead of {detail['expected']}, seed {seed}"
        )
        if not known:
            raise Failure("cheating", f"right for the announced seeds {self.request['seeds']} only: {text}")
        if self.changes_with_poison(name, arrays, got, wrong):
            kind, what = "uninitialized", "reads memory that nothing wrote, or leaves some of its output unwritten: "
        else:
            kind, what = "wrong_values", ""
        race = self.race_behind(name, arrays)
        if race is not None:
            raise Failure("race", f"{race}; {text}")
        raise Failure(kind, what + text)

    def race_behind(self, name, arrays):
        """Return the race that may be why values are wrong, or None; after this the process runs no more kernels."""
        try:
            return self.run_with_races(name, arrays)[1]
        except Failure as failure:
            return str(failure)
        except Exception:
            return None

    def changes_with_poison(self, name, arrays, got, wrong):
        """Return whether what is wrong is different when unwritten memory holds zeros instead of NaN."""
        try:
            again, _ = self.runner(name, uninitialized_memory="zero")(arrays)
        except Exception:
            return False
        return any(again[number][mask].tobytes() != got[number][mask].tobytes() for number, (mask, _) in wrong.items())

    def look_at_log(self, printed):
        """Fail on what the interpreter only prints: a kernel that ends with a semaphore still raised."""
        for line in printed.splitlines():
            if "has non-zero count" in line:
                raise Failure("semaphore", f"a semaphore or DMA is not waited for: {line.strip()}")

    def look_for_races(self, name, reference, seed):
        """Run once with race detection, two cores and eager copies; without the detection where the grid is long."""
        program = self.decode(name)
        if not any(True for _ in numerics.kernels(program.jaxpr)):
            return
        steps = numerics.grid_steps(program.jaxpr)
        if steps > numerics.MOST_STEPS_WITH_RACES:
            self.note(f"race detection skipped: {steps} grid steps, more than {numerics.MOST_STEPS_WITH_RACES}")
        arrays = reference.inputs(seed)
        got, race = self.run_with_races(name, arrays)
        if race is not None:
            raise Failure("race", race)
        wrong = self.compare(got, reference.outputs(arrays), reference.tolerances, self.rounded_from_floats())
        if wrong:
            self.report.value["mismatch"] = [{"seed": seed, **detail} for _, detail in wrong.values()]
            raise Failure("race", "values are wrong on two cores or with copies that start at once, right otherwise")

    def run_with_races(self, name, arrays):
        """Return (outputs, race found or None) of a run with two cores and eager copies."""
        detect = numerics.grid_steps(self.decode(name).jaxpr) <= numerics.MOST_STEPS_WITH_RACES
        run = self.runner(name, detect_races=detect, num_cores_or_threads=2, dma_execution_mode="eager")
        got, printed = run(arrays)
        found = numerics.races_found() if detect else False
        if found is None:
            self.note("this JAX does not say whether it found a race")
        if not found:
            self.look_at_log(printed)
        return got, numerics.first_race(printed) if found else None

    def flat_specs(self):
        """Return the partition specs of every input array and of every output."""
        return (
            [workloads.spec_of(untuple(s)) for s in self.request["flat_specs"]["in"]],
            [workloads.spec_of(untuple(s)) for s in self.request["flat_specs"]["out"]],
        )

    # --- integrity ---

    def check_integrity(self):
        """Hold where and how the program works to what the reference does."""
        names = {self.request["programs"][self.first()]: "config"}
        if self.request["check"]:
            names |= {self.request["check"]: "check"}
        shares = {}
        for name, side in names.items():
            closed, expected = self.decode(name), self.request["expected"][side]
            if any(eqn.params.get("interpret") for eqn in numerics.kernels(closed.jaxpr)):
                raise Failure(
                    "not_pallas", "a kernel is called with interpret set: it does not run on the TPU as a kernel"
                )
            shares[side] = integrity.Work(closed).share(expected["flops"], expected["elements"])
            self.check_dependence(closed, expected)
            self.check_precision(closed, expected)
        share = min(shares.values())
        self.report.save(pallas_share=round(share, 4))
        least = self.request["min_pallas_share"]
        if share < least:
            what = "no kernel at all" if not share else f"{share:.0%} of the work is inside pallas_call"
            raise Failure("not_pallas", f"{what}, at least {least:.0%} must be")
        self.check_same_program()

    def check_dependence(self, closed, expected):
        """Refuse a program whose output is a constant where the reference's is computed."""
        for number, (depends, wanted) in enumerate(zip(integrity.depends_on(closed), expected["depends"], strict=True)):
            if wanted and not depends:
                raise Failure("cheating", f"output {number} does not depend on any input")

    def check_precision(self, closed, expected):
        """Refuse arithmetic narrower than the reference's and than every array that goes in or out."""
        found, allowed = integrity.narrowest(closed), expected["narrowest"]
        if found and allowed and found[0] < allowed:
            raise Failure(
                "cheating",
                f"{found[1]} works on {found[0]}-bit floats, the reference and its arrays on {allowed} bits or more",
            )

    def other_operations(self):
        """Return the operations that only one of the programs at CONFIG and at CHECK computes with in its kernels."""
        if self.request["check"] is None:
            return []
        names = self.request["programs"][self.first()], self.request["check"]
        at_config, at_check = (set(integrity.arithmetic(self.decode(name))) for name in names)
        return sorted(at_config ^ at_check)

    def compare_at_config(self):
        """Compare values at CONFIG, where the program computes otherwise than at CHECK, if that is affordable."""
        if self.config_cpu_s() > self.request["config_cpu_s"]:
            return
        self.note("the kernels at CONFIG compute with other operations than at CHECK: numerics ran at both")
        expected = self.request["expected"]["config"]
        reference = self.reference({}, expected)
        self.compare_seeds(self.request["programs"][self.first()], reference, self.request["seeds"][:1])
        self.compared_at_config = True

    def check_same_program(self):
        """Refuse to decide on a program whose values were compared on another one only."""
        only = [] if self.compared_at_config else self.other_operations()
        if only:
            raise Undecided(f"the kernels at CONFIG and at CHECK compute with different operations: {', '.join(only)}")


def untuple(spec):
    """Return a spec from JSON: {"dims": [...]} is a tuple."""
    return tuple(untuple(s) for s in spec["dims"]) if isinstance(spec, dict) else spec


def mesh_of(devices, axes):
    """Return a Mesh of the first devices in the shape of the axes."""
    import numpy as np

    count = int(np.prod(list(axes.values())))
    return Mesh(np.array(devices[:count]).reshape(tuple(axes.values())), tuple(axes))


def wrong_type(got, expected):
    """Return one line that says how result types differ."""
    if len(got) != len(expected):
        return f"{len(got)} outputs, expected {len(expected)}"
    number = next(i for i, (g, e) in enumerate(zip(got, expected, strict=True)) if g != e)
    (dtype, shape), (want_dtype, want_shape) = got[number], expected[number]
    return f"output {number} is {dtype}{shape}, expected {want_dtype}{want_shape}"


def main(request_path, report_path, folder):
    """Read the request and judge."""
    with open(request_path, encoding="utf-8") as stream:
        request = json.load(stream)
    report = files.Report(
        report_path,
        stage="start",
        target=None,
        failure=None,
        undecided=None,
        compiled={},
        seeds=[],
        mismatch=[],
        notes=[],
        pallas_share=None,
        skipped={},
        seconds={},
    )
    judge = Judge(request, report, folder)
    stage = lambda: {"stage": judge.stage, "target": report.value["target"]}  # noqa: E731
    try:
        judge.run()
    except Failure as failure:
        report.value["failure"] = {**stage(), "kind": failure.kind, "error": failure.error}
    except Undecided as reason:
        report.value["undecided"] = {**stage(), "reason": str(reason)}
    except BaseException as error:
        if judge.stage in CANDIDATES_FAULT:
            report.value["failure"] = {**stage(), "kind": None, "error": files.error_of(error)}
        else:
            reason = f"the judge itself failed: {type(error).__name__}: {error}"
            report.value["undecided"] = {**stage(), "reason": reason[: files.MESSAGE_LIMIT]}
    if judge.stage not in ("start", "done"):
        judge.report.value["seconds"][judge.stage] = time.process_time() - judge.entered
    report.save()
    sys.stdout.flush()
    os._exit(0)  # interpreter threads may wait for ever


if __name__ == "__main__":
    main(*sys.argv[1:])
