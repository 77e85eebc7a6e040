"""What tracing a workload (or reading its text) tells, as immutable values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ArrayUse:
    """What becomes of an intermediate array, followed through operations that keep its number of elements.

    Attributes:
        through: Element-wise primitives on the way, sorted.
        consumers: Primitives that make something else of it (a reduction, the next matmul), sorted.
        stored: Whether as many elements leave the program as an output.
        batch_rank: Leading dimensions that are a dot_general's batch dimensions, if one made it, else 0.
    """

    through: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()
    stored: bool = False
    batch_rank: int = 0


@dataclass(frozen=True, slots=True)
class ArrayFact:
    """One input, output or intermediate array.

    Attributes:
        name: Parameter name, `output` or `output[i]`, or the primitive that makes an intermediate.
        shape: Dimensions at CONFIG sizes.
        dtype: JAX's name of the element type.
        bytes: Size in bytes (unpadded).
        fits_vmem: Whether it fits the target's VMEM whole.
        sublane_multiple: The largest of 32, 16, 8, 1 that divides the second-to-last dimension; 1 if there is none.
        lane_multiple: 128 if it divides the last dimension, else the largest power of two that does; 1 for a scalar.
        check_shape: Dimensions at CHECK sizes, or None if the workload has no CHECK (and for intermediates).
        use: What becomes of an intermediate; None for inputs and outputs.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    fits_vmem: bool
    sublane_multiple: int
    lane_multiple: int
    check_shape: tuple[int, ...] | None = None
    use: ArrayUse | None = None


@dataclass(frozen=True, slots=True)
class ReductionFact:
    """A reduction: the primitive, the operand's shape, the axes, and whether its result meets such an array again."""

    primitive: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    reused: bool = False


@dataclass(frozen=True, slots=True)
class LoopFact:
    """A loop (scan, while, fori) in the traced program.

    Attributes:
        primitive: `scan` or `while`.
        trips: Static trip count, or None if it depends on data.
        carries: Number of carried values that change, counters not counted.
        independent: Whether the iterations only collect into disjoint places, so that vmap could replace the carry.
        flops_share: Share of the program's FLOPs that its body takes.
    """

    primitive: str
    trips: int | None
    carries: int
    independent: bool
    flops_share: float = 0.0


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
        mesh: Axis sizes of a multi-chip workload (its MESH_AXES); shapes, FLOPs and bytes are then one device's.
        config: The workload's CONFIG.
        check: Its CHECK, or an empty mapping.
        primitives: JAX primitive name to number of occurrences (loop bodies counted once).
        inputs: Input arrays.
        outputs: Output arrays.
        intermediates: The largest intermediate arrays, largest first, one a shape and type; those of a loop's body too.
        flops: Floating-point operations by the counting rules of `_child/program_facts.py`, or None.
        matmul_flops: Those of matmuls and convolutions alone, or None.
        uncounted: Primitives whose work `flops` leaves out, sorted.
        bytes: Bytes of inputs and outputs, each once, or None.
        intensity: flops / bytes, or None.
        compute_dtype: Element type of the matmuls with most FLOPs, else of the largest input; None if not traced.
        ridge: The target's ridge point in FLOP/byte for `compute_dtype`; for a type without a peak of its own (float32,
            whose matmuls run as passes of bfloat16) that of bfloat16. Peaks are of the matrix unit. None if not
            traced.
        bound: "compute" if `intensity` reaches `ridge`, else "memory"; None if not traced.
        reductions: Reductions with axes.
        loops: Loops.
        data_dependent: Operations whose addresses or sizes depend on input values (`gather indexed by i`), sorted.
        collectives: Communication between devices, by primitive, sorted.
        identifiers: Names and attribute chains in the source, in order of first use, without those of the contract.
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
    mesh: Mapping[str, int] = field(default_factory=dict)
    config: Mapping[str, object] = field(default_factory=dict)
    check: Mapping[str, object] = field(default_factory=dict)
    primitives: Mapping[str, int] = field(default_factory=dict)
    inputs: tuple[ArrayFact, ...] = ()
    outputs: tuple[ArrayFact, ...] = ()
    intermediates: tuple[ArrayFact, ...] = ()
    flops: float | None = None
    matmul_flops: float | None = None
    uncounted: tuple[str, ...] = ()
    bytes: int | None = None
    intensity: float | None = None
    compute_dtype: str | None = None
    ridge: float | None = None
    bound: str | None = None
    reductions: tuple[ReductionFact, ...] = ()
    loops: tuple[LoopFact, ...] = ()
    data_dependent: tuple[str, ...] = ()
    collectives: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
