"""Estimates the device time of one program for a TPU that is not attached.

Run as `python -I latency_estimate.py REQUEST.json ANSWER.json`; one process a program, since some libtpu versions end
the process in `cost_analysis`. The answer is on disk before each risky step.

Request: `{"file", "program" or null, "topology", "machine" or null, "folder" or null}` where `file` is a Python file
that defines `workload` and `create_inputs`, or (with `program`) a mapping PROGRAMS of names to objects with these two
as attributes. `machine` holds the fields of latency_walk.Machine, null where the target's clock is not known. With
`folder`, the schedules stay there, with the program's text (hlo.txt) and integer inputs (values.json), to be walked
again without compiling.

Answer: `{"stage", "schedule": {"ms", "detail"}, "cost_analysis": {"ms", "detail"}, "pallas", "memory", "versions",
"error"}`. `ms` is null where a method cannot support a number, and `detail.reason` then says why. `stage` names the
step the process was in: `start`, `compile`, `walk`, `cost_analysis`, `done`.

Importable too: set `LIBTPU_INIT_ARGS` to `init_args(folder)` before libtpu is loaded, compile, and call `estimate`.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from latency_bundles import Unsupported  # type: ignore[import-not-found] # noqa: E402
from latency_program import Timing, schedules, time_program  # type: ignore[import-not-found] # noqa: E402
from latency_walk import Machine  # type: ignore[import-not-found] # noqa: E402

# More integers than this in one input are lengths, tables or tokens that no control flow hangs on.
_MOST_VALUES = 1 << 16
_MOSAIC_CALL = 'custom_call_target="tpu_custom_call"'


def init_args(folder: str | os.PathLike[str]) -> str:
    """Return the LIBTPU_INIT_ARGS that make the compiler write final schedules, and little else, to `folder`."""
    return (
        f"--xla_jf_dump_to={os.fspath(folder)} --xla_jf_dump_llo_text=true "
        "--xla_jf_dump_llo_pass_label_regex=^final_bundles$|^deduplication-map$"
    )


def estimate(
    compiled: Any,
    folder: str | os.PathLike[str],
    machine: Mapping[str, float] | None,
    *,
    devices: int = 1,
    values: Mapping[int, Sequence[int]] | None = None,
    since: frozenset[str] = frozenset(),
) -> dict[str, Any]:
    """Return the schedule's estimate for a compiled program: `{"ms", "detail"}`.

    Args:
        compiled: jax's Compiled.
        folder: Where the compiler wrote its schedules (see `init_args`).
        machine: Fields of latency_walk.Machine, or None where the target's clock is not known.
        devices: Devices the program runs on.
        values: Values of integer inputs by position, flat; others are unknown.
        since: Names of files that were in `folder` before this program was compiled.
    """
    if machine is None:
        return _nothing("the clock rate of this target is not known")
    if devices > 1:
        return _nothing("several chips: what they wait for each other is not modelled")
    folder = Path(folder)
    if not folder.is_dir() or not any(path.name not in since for path in folder.iterdir()):
        return _nothing("the compiler wrote no schedule")
    fitted = Machine(**machine)
    try:
        timing = time_program(program_text(compiled), schedules(folder, since), fitted, values)
    except Unsupported as reason:
        return _nothing(str(reason))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # The dump has no documented form: another compiler's may differ in ways not foreseen.
        return _nothing(f"the schedule could not be read ({type(error).__name__}: {error})")
    return {"ms": timing.cycles / fitted.clock_hz * 1e3, "detail": _detail(timing, machine)}


def program_text(compiled: Any) -> str:
    """Return a compiled program's HLO text, with the values of integer constants where JAX can print them."""
    text: str = compiled.as_text()
    if not re.search(r"= [su]\d+\[\S* constant\(\{\.\.\.\}\)", text):
        return text
    for home in ("jaxlib._hlo", "jaxlib._jax"):  # private: the one of JAX 0.10 and that of 0.6
        try:
            options = importlib.import_module(home).HloPrintOptions()
            options.print_large_constants = True
            return "\n".join(module.to_string(options) for module in compiled.runtime_executable().hlo_modules())
        except (ImportError, AttributeError):
            continue
    return text


def cost_analysis(compiled: Any, *, devices: int = 1) -> dict[str, Any]:
    """Return the compiler's own estimate of a plain XLA program: `{"ms", "detail"}`. Ask for it last."""
    if _MOSAIC_CALL in compiled.as_text():  # the program's own Pallas kernels, or kernels that libtpu put in
        return _nothing("the compiler's cost analysis does not look into Mosaic kernels")
    if devices > 1:
        return _nothing("several chips: what they wait for each other is not modelled")
    found = compiled.cost_analysis() or {}
    found = found[0] if isinstance(found, list) else found
    seconds = found.get("optimal_seconds")
    kept = {key.replace(" ", "_"): found[key] for key in ("flops", "bytes accessed") if key in found}
    if seconds is None:
        return _nothing("the compiler's cost analysis gives no time", **kept)
    if not seconds > 0:
        return _nothing(f"the compiler's cost analysis gives {seconds:g} s", **kept)
    return {"ms": seconds * 1e3, "detail": kept}


def memory_need(compiled: Any) -> dict[str, int]:
    """Return what a program needs of HBM: its parts and their sum in bytes."""
    memory = compiled.memory_analysis()
    parts = {
        "argument_bytes": memory.argument_size_in_bytes,
        "output_bytes": memory.output_size_in_bytes,
        "temporary_bytes": memory.temp_size_in_bytes,
        "code_bytes": memory.generated_code_size_in_bytes,
        "alias_bytes": memory.alias_size_in_bytes,
    }
    return {**parts, "need_bytes": sum(parts.values()) - 2 * parts["alias_bytes"]}


def _nothing(reason: str, **more: Any) -> dict[str, Any]:
    return {"ms": None, "detail": {"reason": reason, **more}}


def _detail(timing: Timing, machine: Mapping[str, float]) -> dict[str, Any]:
    to_ms = 1e3 / machine["clock_hz"]
    slowest = sorted(timing.operations, key=lambda entry: (-entry[1] * entry[2].cycles, entry[0]))
    return {
        "machine": dict(machine),
        "bundles": sum(times * walk.bundles for _, times, walk in timing.operations),
        "stalled_ms": sum(times * walk.stalled for _, times, walk in timing.operations) * to_ms,
        "hbm_bytes": sum(times * walk.hbm_bytes for _, times, walk in timing.operations) + timing.copied_bytes,
        "dmas": sum(times * walk.dmas for _, times, walk in timing.operations),
        "operations": len(timing.operations),
        "slowest": [
            {
                "name": name,
                "times": times,
                "ms": times * walk.cycles * to_ms,
                "stalled_ms": times * walk.stalled * to_ms,
                "hbm_bytes": times * walk.hbm_bytes,
                "dmas": times * walk.dmas,
            }
            for name, times, walk in slowest[:8]
        ],
    }


def load(file: str, program: str | None) -> tuple[Callable[..., Any], Callable[[], Any]]:
    """Return (workload, create_inputs) of a Python file, or of one of its PROGRAMS."""
    spec = importlib.util.spec_from_file_location("timed", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"not a Python file: {file}")
    module: Any = importlib.util.module_from_spec(spec)
    sys.modules["timed"] = module
    spec.loader.exec_module(module)
    holder = module if program is None else module.PROGRAMS[program]
    return holder.workload, holder.create_inputs


def _integer_values(create_inputs: Callable[[], Any]) -> dict[int, list[int]]:
    """Return the values of the small integer inputs by position; nothing else is computed."""
    import jax
    import numpy as np

    shapes = jax.tree.leaves(jax.eval_shape(create_inputs))
    wanted = [n for n, s in enumerate(shapes) if np.issubdtype(s.dtype, np.integer) and s.size <= _MOST_VALUES]
    if not wanted:
        return {}
    try:
        arrays = jax.jit(lambda: [jax.tree.leaves(create_inputs())[n] for n in wanted])()
    except Exception:  # not traceable: the values stay unknown
        return {}
    return {n: [int(v) for v in np.asarray(a).ravel()] for n, a in zip(wanted, arrays, strict=True)}


def _compile(request: Mapping[str, Any]) -> tuple[Any, dict[int, list[int]], bool]:
    """Return (compiled, integer values, has Pallas) of a request's program, for one device of its topology."""
    import jax
    from jax.experimental import topologies
    from jax.sharding import SingleDeviceSharding

    device: Any = topologies.get_topology_desc(topology_name=request["topology"], platform="tpu").devices[0]
    struct: Any = jax.ShapeDtypeStruct

    def placed(x: Any) -> Any:
        return struct(x.shape, x.dtype, sharding=SingleDeviceSharding(device))

    workload, create_inputs = load(request["file"], request.get("program"))
    shapes = jax.eval_shape(create_inputs)
    inputs = tuple(jax.tree.map(placed, tuple(shapes) if isinstance(shapes, tuple | list) else (shapes,)))
    values = _integer_values(create_inputs)
    with _tpu_in_context(device):
        lowered = jax.jit(workload).trace(*inputs).lower(lowering_platforms=("tpu",))
    return lowered.compile(), values, "tpu_custom_call" in lowered.as_text()


def _tpu_in_context(device: Any) -> contextlib.AbstractContextManager[Any]:
    """Put an abstract TPU in context; without one some lowering rules take the CPU for the target (not in 0.6)."""
    try:
        from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh
    except ImportError:
        return contextlib.nullcontext()
    abstract = AbstractDevice(device.device_kind, device.num_cores, "tpu")
    return use_abstract_mesh(AbstractMesh((1,), ("_x",), abstract_device=abstract))


def main(request_path: str, answer_path: str) -> None:
    """Answer one request."""
    request = json.loads(Path(request_path).read_text(encoding="utf-8"))
    answer: dict[str, Any] = {
        "stage": "start",
        "schedule": _nothing("not reached"),
        "cost_analysis": _nothing("not reached"),
        "pallas": None,
        "memory": None,
        "versions": {},
        "error": None,
    }

    def enter(stage: str) -> None:
        answer["stage"] = stage
        beside = f"{answer_path}.part"
        Path(beside).write_text(json.dumps(answer), encoding="utf-8")
        os.replace(beside, answer_path)

    with tempfile.TemporaryDirectory(prefix="ragctx-dump-") as temporary:
        folder = request.get("folder") or temporary
        os.environ["LIBTPU_INIT_ARGS"] = f"{os.environ.get('LIBTPU_INIT_ARGS', '')} {init_args(folder)}".strip()
        try:
            answer["versions"] = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "libtpu")}
            enter("compile")
            compiled, values, answer["pallas"] = _compile(request)
            answer["memory"] = memory_need(compiled)
            if request.get("folder"):
                Path(folder, "hlo.txt").write_text(program_text(compiled), encoding="utf-8")
                Path(folder, "values.json").write_text(json.dumps(values), encoding="utf-8")
            enter("walk")
            answer["schedule"] = estimate(compiled, folder, request["machine"], values=values)
            enter("cost_analysis")
            answer["cost_analysis"] = cost_analysis(compiled)
            enter("done")
        except Exception as error:  # the error is the answer
            answer["error"] = f"{type(error).__name__}: {error}"[:2000]
            enter(answer["stage"])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
