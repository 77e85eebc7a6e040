"""Takes files of wrong_kernels/ through import, trace, lower, compile and interpreted numerics, until each fails.

Run by path as `python -I ladder.py REQUEST.json ANSWER.json`. Request: `{"files": [path], "child": ragctx/_child's
folder, "numerics": bool, "cpu_s": number, "idle_s": number}`. Answer: a list, one `{"file", "stage", "type",
"message", "traceback", "found"}` a file begun; `found` names a failure that is not an exception (a kind, or null). The
answer is on disk before each stage. Without `numerics` a file that compiles ends at `compiled`.
"""

import ast
import importlib.util
import json
import os
import sys
import threading
import time
import traceback
from pathlib import Path

os.environ["JAX_TRACEBACK_FILTERING"] = "off"  # classify() reads JAX's own frames

SEEDS = [0, 1]
# Copies get random places in the vector clocks, and races between copies of one place are not seen: the default, four
# places, misses every second one.
CLOCK_SIZE = 256
IDLE_SHARE = 0.02  # of a core: a process that waits on a semaphore uses less, one that computes more


class Found(Exception):
    """A failure that is no exception of the candidate's: its kind and a message."""


class Answer:
    """The answer as it grows."""

    def __init__(self, path):
        self._path, self.value = Path(path), []

    def begin(self, file):
        self.value.append(
            {"file": file, "stage": "import", "type": None, "message": "", "traceback": "", "found": None}
        )
        self.save()

    def note(self, **fields):
        self.value[-1].update(fields)
        self.save()

    def save(self):
        beside = self._path.with_suffix(".part")
        beside.write_text(json.dumps(self.value), encoding="utf-8")
        os.replace(beside, self._path)


def watch(answer, cpu_s, idle_s):
    """End the process when it has used its time, or uses none."""
    used_before, idle_since = time.process_time(), time.monotonic()
    while True:
        time.sleep(0.5)
        used, now = time.process_time(), time.monotonic()
        if used > cpu_s:
            answer.note(found="timeout", message=f"more than {cpu_s} CPU-seconds")
            os._exit(1)
        if used - used_before > IDLE_SHARE * (now - idle_since) + 0.02:
            used_before, idle_since = used, now
        elif now - idle_since > idle_s:
            answer.note(found="deadlock", message=f"nothing happened for {idle_s} s")
            os._exit(1)


def load(file):
    spec = importlib.util.spec_from_file_location("candidate", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    if not callable(getattr(module, "workload", None)):
        raise Found("entry_point", "the file defines no function `workload`")
    return module


def types_of(jax, tree):
    return jax.tree.map(lambda x: (tuple(x.shape), str(x.dtype)), tree)


def has_pallas(jax, function, inputs):
    """Whether the result depends on a pallas_call."""

    def inner(eqn):
        for value in eqn.params.values():
            jaxpr = getattr(value, "jaxpr", value)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr

    def holds(jaxpr):
        needed = {id(var) for var in jaxpr.outvars}
        for eqn in reversed(jaxpr.eqns):
            if needed.isdisjoint(id(var) for var in eqn.outvars):
                continue
            if eqn.primitive.name == "pallas_call" or any(holds(jaxpr) for jaxpr in inner(eqn)):
                return True
            needed.update(id(var) for var in eqn.invars)
        return False

    return holds(jax.make_jaxpr(function)(*inputs).jaxpr)


def numerics(module, answer):
    import check_example as example
    import jax
    from jax.experimental.pallas import tpu as pltpu

    inputs = [example.make_inputs(module, seed) for seed in SEEDS]
    expected = [jax.device_get(jax.jit(module.reference)(*args)) for args in inputs]

    def outputs(**options):
        params = pltpu.InterpretParams(random_seed=0, **options)
        return [jax.device_get(got) for got in example.run_interpreted(module.workload, inputs, params)]

    def wrong(results):
        outcomes = (example.compare(got, want, module) for got, want in zip(results, expected, strict=True))
        return next((outcome["message"] for outcome in outcomes if not outcome["passed"]), None)

    poisoned = outputs(uninitialized_memory="nan")
    found = wrong(poisoned)
    # A copy that starts at once hides other mistakes than one that starts when it is waited for.
    for mode, cores in (("eager", 2), ("eager", 1), ("on_wait", 2)) if found else (("eager", 2),):
        raced = outputs(
            detect_races=True, num_cores_or_threads=cores, dma_execution_mode=mode, vector_clock_size=CLOCK_SIZE
        )
        if example.races_found():
            raise Found("race", f"race detected ({mode})")
        if not found and wrong(raced):
            raise Found("race", f"right on one core, on two: {wrong(raced)}")
    if found:
        zeroed = outputs(uninitialized_memory="zero")
        depends = any(not example.compare(z, p, module)["passed"] for z, p in zip(zeroed, poisoned, strict=True))
        raise Found("uninitialized" if depends else "wrong_values", found)


def climb(file, request, answer):
    import jax
    from jax.experimental import topologies
    from jax.sharding import AbstractDevice, AbstractMesh, SingleDeviceSharding, use_abstract_mesh

    answer.note(stage="parse")
    ast.parse(Path(file).read_text(encoding="utf-8"))
    answer.note(stage="import")
    module = load(file)
    answer.note(stage="trace")
    device = topologies.get_topology_desc(topology_name="v6e:2x2", platform="tpu").devices[0]
    tpu = AbstractDevice(device.device_kind, device.num_cores, "tpu")
    placed = SingleDeviceSharding(device)
    inputs = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=placed) for x in jax.eval_shape(module.create_inputs)]
    with use_abstract_mesh(AbstractMesh((1,), ("_x",), abstract_device=tpu)):
        traced = jax.jit(module.workload).trace(*inputs)
        want = types_of(jax, jax.eval_shape(module.reference, *inputs))
        got = types_of(jax, traced.out_info)
        if got != want:
            raise Found("wrong_type", f"the result is {got}, expected {want}")
        answer.note(stage="lower")
        lowered = traced.lower(lowering_platforms=("tpu",))
        pallas = has_pallas(jax, module.workload, inputs)
    answer.note(stage="compile")
    lowered.compile()
    if request["numerics"]:
        answer.note(stage="numerics")
        numerics(module, answer)
        answer.note(stage="integrity")
        if not pallas:
            raise Found("not_pallas", "the result does not depend on a pallas_call")
        answer.note(stage="done")
    else:
        answer.note(stage="compiled")


def main(request_path, answer_path):
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    sys.dont_write_bytecode = True
    sys.path.insert(0, request["child"])
    answer = Answer(answer_path)
    import jax

    for number, file in enumerate(request["files"]):
        answer.begin(file)
        if number == 0:
            threading.Thread(target=watch, args=(answer, request["cpu_s"], request["idle_s"]), daemon=True).start()
        try:
            climb(file, request, answer)
        except Found as found:
            kind, message = found.args
            answer.note(found=kind, message=message)
        except (Exception, SystemExit) as error:
            answer.note(type=type(error).__name__, message=str(error), traceback=traceback.format_exc())
        jax.clear_caches()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
    os._exit(0)  # threads of interpret mode may still wait
