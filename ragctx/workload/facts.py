"""What tracing a workload (or reading its text) tells, as immutable values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ArrayFact:
    """One input, output or intermediate array.

    Attributes:
        name: Parameter name, `output` or `output[i]`, or the primitive that makes an intermediate.
        shape: Dimensions at CONFIG sizes.
        dtype: JAX's name of the element type.
        bytes: Size in bytes (unpadded).
        fits_vmem: Whether it fits the target's VMEM whole.
        sublane_multiple: The largest of 32, 16, 8, 1 that divides the second-to-last dimension.
        lane_multiple: 128 if it divides the last dimension, else the largest power of two that does.
        check_shape: Dimensions at CHECK sizes, or None if the workload has no CHECK.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    fits_vmem: bool
    sublane_multiple: int
    lane_multiple: int
    check_shape: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReductionFact:
    """A reduction: the primitive, the operand's shape, and the axes it reduces."""

    primitive: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LoopFact:
    """A loop (scan, while, fori) in the traced program.

    Attributes:
        primitive: `scan` or `while`.
        trips: Static trip count, or None if it depends on data.
        carries: Number of carried arrays.
        independent: Whether the iterations only collect into disjoint places, so that vmap could replace the carry.
    """

    primitive: str
    trips: int | None
    carries: int
    independent: bool


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """What is known of a workload. Traced facts are empty when only the text was read.

    Attributes:
        name: The workload's name (file stem, or folder name for a checkout's `baseline.py`).
        task: The task in plain words (the module's docstring, or the text given as a task).
        source: The workload's source code, or "" for a task in words.
        traced: Whether the facts come from tracing.
        note: Why tracing was not done or failed, one line, or "".
        target: TPU target the ridge point and VMEM are of.
        config: The workload's CONFIG.
        check: Its CHECK, or an empty mapping.
        primitives: JAX primitive name to number of occurrences (loop bodies counted once).
        inputs: Input arrays.
        outputs: Output arrays.
        intermediates: The largest intermediate arrays, largest first.
        flops: Floating-point operations by the counting rules of `_child/trace_workload.py`, or None.
        bytes: Bytes of inputs and outputs, each once, or None.
        intensity: flops / bytes, or None.
        ridge: The target's ridge point in FLOP/byte for the workload's compute dtype, or None.
        bound: "compute", "memory" or None.
        reductions: Reductions with axes.
        loops: Loops.
        data_dependent: Operations whose addresses or sizes depend on data (gather, dynamic_slice, while...), sorted.
        identifiers: Names and attribute chains in the source, in order of first use.
        operators: Operator words recognised in names, docstring and comments (attention, rmsnorm...), sorted.
        advice: Hints derived from the facts, one sentence each.
        versions: Versions of what traced it (jax), or an empty mapping.
    """

    name: str
    task: str = ""
    source: str = ""
    traced: bool = False
    note: str = ""
    target: str = "v6e"
    config: Mapping[str, object] = field(default_factory=dict)
    check: Mapping[str, object] = field(default_factory=dict)
    primitives: Mapping[str, int] = field(default_factory=dict)
    inputs: tuple[ArrayFact, ...] = ()
    outputs: tuple[ArrayFact, ...] = ()
    intermediates: tuple[ArrayFact, ...] = ()
    flops: float | None = None
    bytes: int | None = None
    intensity: float | None = None
    ridge: float | None = None
    bound: str | None = None
    reductions: tuple[ReductionFact, ...] = ()
    loops: tuple[LoopFact, ...] = ()
    data_dependent: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
