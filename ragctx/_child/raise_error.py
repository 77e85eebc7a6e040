"""Take one file through import, trace, lower and compile for a TPU target, and say where it ended and with which error.

Run by path as `python -I raise_error.py REQUEST.json ANSWER.json`. The request is
`{"file": PATH, "entry": "workload", "topology": "v6e:2x2"}`; the answer is `{"stage", "type", "message"}`, where
`stage` is `import`, `trace`, `lower`, `compile` or `done`. The answer is written before each stage with `type` and
`message` null, so that a process that dies leaves the stage it died in.

The file defines `workload(*inputs)` (or another function, named by `entry`) and `create_inputs()`, whose inputs stay
abstract. A rule's `<slug>.raises.py` also defines `fixed(*inputs)`: the same kernel put right.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any


def _load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("raising", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"not a Python file: {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _sharded(inputs: Any, sharding: Any) -> Sequence[Any]:
    import jax

    struct: Any = jax.ShapeDtypeStruct
    leaves = inputs if isinstance(inputs, tuple | list) else (inputs,)
    return [jax.tree.map(lambda a: struct(a.shape, a.dtype, sharding=sharding), leaf) for leaf in leaves]


def run(path: str, entry: str, topology: str, note: Any) -> None:
    """Take the file through all stages, calling `note(stage)` before each; whatever it raises passes through."""
    note("import")
    import jax

    # Where the request's file fails on import, the error is its own, so JAX is imported first.
    from jax.experimental import topologies
    from jax.sharding import AbstractDevice, AbstractMesh, SingleDeviceSharding

    module = _load(path)
    note("trace")
    device: Any = topologies.get_topology_desc(topology_name=topology, platform="tpu").devices[0]
    inputs = _sharded(jax.eval_shape(module.create_inputs), SingleDeviceSharding(device))
    # Some lowering rules ask for the device in context and would take the CPU for the target.
    kind = AbstractDevice(device.device_kind, device.num_cores, "tpu")
    with jax.sharding.use_abstract_mesh(AbstractMesh((1,), ("_x",), abstract_device=kind)):
        traced = jax.jit(getattr(module, entry)).trace(*inputs)
        note("lower")
        lowered = traced.lower(lowering_platforms=("tpu",))
    note("compile")
    lowered.compile()
    note("done")


def main(request_path: str, answer_path: str) -> None:
    """Answer one request."""
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    answer: dict[str, Any] = {"stage": "import", "type": None, "message": None}

    def write() -> None:
        with open(answer_path + ".part", "w", encoding="utf-8") as file:
            json.dump(answer, file)
        os.replace(answer_path + ".part", answer_path)

    def note(stage: str) -> None:
        answer["stage"] = stage
        write()

    try:
        run(request["file"], request.get("entry", "workload"), request.get("topology", "v6e:2x2"), note)
    except Exception as error:  # the error is the answer
        answer["type"], answer["message"] = type(error).__name__, str(error)
        write()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
