"""Facts of a workload: by tracing it in a child process, from its text alone, or from a task in plain words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragctx import targets
from ragctx.children import ChildResult, run_script
from ragctx.errors import RagctxError
from ragctx.workload.advice import check_advice, traced_advice
from ragctx.workload.facts import ArrayFact, ArrayUse, LoopFact, ReductionFact, WorkloadFacts
from ragctx.workload.source import WorkloadSource, read_workload

_NO_TRACE = "use --no-trace to read the text alone"
_ADDRESS = re.compile(r"(?: at)? 0x[0-9a-fA-F]{6,}")
_FOLDERS = re.compile(r"(?<![\w.~/:-])~?(?:/[^\s/:'\"<>()]+)+/(?=[^\s/:'\"<>()])")


class TraceError(RagctxError):
    """The workload could be imported but not traced; its text can still be read."""


def facts_for(
    path: Path | str,
    *,
    target: str = targets.DEFAULT_TARGET,
    trace: bool = True,
    python: str | None = None,
    timeout_s: float = 120.0,
) -> WorkloadFacts:
    """Return the facts of a workload file; where tracing it fails, those of its text, with the reason in `note`.

    Args:
        path: The workload file.
        target: TPU target.
        trace: Whether to trace it; False reads the text alone and starts no process.
        python: Interpreter whose JAX traces it; this one by default.
        timeout_s: Wall-clock seconds for tracing.

    Raises:
        RagctxError: If the file is not a workload, importing it fails, JAX is missing, or the target is unknown.
    """
    source = read_workload(path)
    if not trace:
        return facts_from_text(source, target=target)
    try:
        return _traced(source, target, python, timeout_s)
    except TraceError as error:
        return replace(facts_from_text(source, target=target), note=_portable(f"not traced: {error.problem}"))


def trace(
    path: Path | str,
    *,
    target: str = targets.DEFAULT_TARGET,
    python: str | None = None,
    timeout_s: float = 120.0,
) -> WorkloadFacts:
    """Trace a workload file in a child process and return its facts.

    Raises:
        TraceError: If `create_inputs` or `workload` fails, or the time is up.
        RagctxError: As `facts_for`.
    """
    return _traced(read_workload(path), target, python, timeout_s)


def facts_from_text(source: WorkloadSource, *, target: str = targets.DEFAULT_TARGET) -> WorkloadFacts:
    """Return what a workload's text tells: no shapes, guessed primitives; runs nothing and imports no JAX.

    Raises:
        RagctxError: If the target is unknown.
    """
    return WorkloadFacts(
        name=source.name,
        task=source.docstring,
        source=source.text,
        note="not traced: read from the text alone",
        target=targets.get(target).name,
        config=source.config,
        check=source.check,
        primitives=source.primitives,
        identifiers=source.identifiers,
        operators=source.operators,
        advice=tuple(check_advice(source.check)),
    )


def _traced(source: WorkloadSource, target: str, python: str | None, timeout_s: float) -> WorkloadFacts:
    chip = targets.get(target)
    request = {"path": str(source.path.resolve())}
    answer = _answer(
        source, run_script("trace_workload.py", request, python=python, timeout_s=timeout_s), timeout_s, python
    )
    program, at_check = answer["program"], answer.get("at_check") or {}
    inputs = _arrays(program["inputs"], chip, at_check.get("inputs"))
    outputs = _arrays(program["outputs"], chip, at_check.get("outputs"))
    moved = sum(array.bytes for array in (*inputs, *outputs))
    intensity = program["flops"] / moved if moved else None
    dtype = program["compute_dtype"] or _largest_dtype(inputs)
    ridge = chip.ridge(dtype) or chip.ridge()
    facts = WorkloadFacts(
        name=source.name,
        task=source.docstring,
        source=source.text,
        traced=True,
        note=_check_note(answer),
        target=chip.name,
        mesh=answer["mesh"],
        config=answer["config"],
        check=answer["check"],
        primitives=program["primitives"],
        inputs=inputs,
        outputs=outputs,
        intermediates=_arrays(program["intermediates"], chip),
        flops=program["flops"],
        matmul_flops=program["matmul_flops"],
        uncounted=tuple(program["uncounted"]),
        bytes=moved,
        intensity=intensity,
        compute_dtype=dtype,
        ridge=ridge,
        bound=_bound(intensity, ridge),
        reductions=tuple(_reduction(item) for item in program["reductions"]),
        loops=tuple(_loop(item) for item in program["loops"] if not item["in_kernel"]),
        data_dependent=tuple(item["what"] for item in program["data_dependent"]),
        collectives=tuple(program["collectives"]),
        identifiers=source.identifiers,
        operators=source.operators,
        versions=answer["versions"],
    )
    deciding = {name for item in program["data_dependent"] for name in item["inputs"]}
    return replace(facts, advice=tuple(dict.fromkeys(traced_advice(facts, chip, deciding))))


def _answer(source: WorkloadSource, result: ChildResult, timeout_s: float, python: str | None) -> Mapping[str, Any]:
    """Return the child's answer if it got to the end.

    Raises:
        TraceError: If it got past the import.
        RagctxError: If JAX or the workload cannot be imported.
    """
    path, answer = str(source.path), result.answer
    if result.timed_out:
        raise TraceError(f"tracing took more than {timeout_s:g} s", where=path, remedy=_NO_TRACE)
    if not isinstance(answer, dict):
        last = next((line.strip() for line in reversed(result.stderr.splitlines()) if line.strip()), "no message")
        raise TraceError(f"the tracing process ended with status {result.status}: {last}", where=path, remedy=_NO_TRACE)
    if answer["stage"] == "done":
        return answer
    reason = _reason(answer["error"])
    line = answer["error"]["line"]
    where = f"{path}:{line}" if line else path
    if answer["stage"] == "jax":
        raise RagctxError(
            f"JAX cannot be imported: {reason}", where=python, remedy=f"install jax there, or {_NO_TRACE}"
        )
    if answer["stage"] == "import":
        raise RagctxError(f"importing it fails: {reason}", where=where, remedy=f"fix it, or {_NO_TRACE}")
    function = "create_inputs" if answer["stage"] == "inputs" else "workload"
    at_line = f" (line {line})" if line else ""
    raise TraceError(f"{function} fails: {reason}{at_line}", where=path, remedy=_NO_TRACE)


def _reason(error: Mapping[str, Any]) -> str:
    message = " ".join(str(error["message"]).split())
    return f"{error['type']}: {message}" if message else str(error["type"])


def _check_note(answer: Mapping[str, Any]) -> str:
    error = answer.get("check_error")
    return _portable(f"not traced at CHECK sizes: {_reason(error)}") if error else ""


def _portable(note: str) -> str:
    """Return a note without what differs between two runs or two machines: addresses, and folders before a file."""
    return _FOLDERS.sub("", _ADDRESS.sub("", note))


def _arrays(
    items: Sequence[Mapping[str, Any]], chip: targets.Target, check_shapes: Sequence[Sequence[int]] | None = None
) -> tuple[ArrayFact, ...]:
    # The number of arrays may depend on the sizes; then the shapes cannot be paired.
    paired = check_shapes if check_shapes is not None and len(check_shapes) == len(items) else None
    return tuple(
        ArrayFact(
            name=item["name"],
            shape=tuple(item["shape"]),
            dtype=item["dtype"],
            bytes=item["bytes"],
            fits_vmem=item["bytes"] <= chip.usable_vmem_bytes,
            sublane_multiple=_sublane_multiple(item["shape"]),
            lane_multiple=math.gcd(item["shape"][-1], 128) if item["shape"] else 1,
            check_shape=tuple(paired[i]) if paired is not None else None,
            use=_use(item) if "consumers" in item else None,
        )
        for i, item in enumerate(items)
    )


def _sublane_multiple(shape: Sequence[int]) -> int:
    rows = shape[-2] if len(shape) > 1 else 1
    return next(n for n in (32, 16, 8, 1) if rows % n == 0)


def _use(item: Mapping[str, Any]) -> ArrayUse:
    return ArrayUse(
        through=tuple(item["through"]),
        consumers=tuple(item["consumers"]),
        stored=item["stored"],
        batch_rank=item["batch_rank"],
    )


def _reduction(item: Mapping[str, Any]) -> ReductionFact:
    return ReductionFact(item["primitive"], tuple(item["shape"]), tuple(item["axes"]), item["reused"])


def _loop(item: Mapping[str, Any]) -> LoopFact:
    return LoopFact(item["primitive"], item["trips"], item["carries"], item["independent"], item["flops_share"])


def _largest_dtype(inputs: Sequence[ArrayFact]) -> str:
    return max(inputs, key=lambda array: array.bytes).dtype if inputs else "bfloat16"


def _bound(intensity: float | None, ridge: float | None) -> str | None:
    if intensity is None or ridge is None:
        return None
    return "compute" if intensity >= ridge else "memory"
