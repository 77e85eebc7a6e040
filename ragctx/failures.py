"""The closed list of failure kinds, each with a plain explanation."""

from __future__ import annotations

import enum
import re


class FailureKind(enum.StrEnum):
    """Why a candidate failed. Every failure gets exactly one kind; `other` is what no rule recognised."""

    SYNTAX = "syntax"
    IMPORT_ERROR = "import_error"
    ENTRY_POINT = "entry_point"
    UNDEFINED_NAME = "undefined_name"
    API_NAME = "api_name"
    API_KEYWORD = "api_keyword"
    BLOCK_SHAPE = "block_shape"
    BLOCK_RANK = "block_rank"
    INDEX_MAP = "index_map"
    SPECS_MISMATCH = "specs_mismatch"
    KERNEL_SIGNATURE = "kernel_signature"
    GRID = "grid"
    ALIAS = "alias"
    DTYPE_STORE = "dtype_store"
    SHAPE_STORE = "shape_store"
    MEMORY_SPACE = "memory_space"
    SCALAR_TO_VMEM = "scalar_to_vmem"
    TRACER_CONTROL_FLOW = "tracer_control_flow"
    CAPTURED_CONSTANT = "captured_constant"
    SHAPE_MISMATCH = "shape_mismatch"
    UNSUPPORTED_PRIMITIVE = "unsupported_primitive"
    AUTODIFF = "autodiff"
    ACCUMULATOR_DTYPE = "accumulator_dtype"
    DIMENSION_SEMANTICS = "dimension_semantics"
    MOSAIC_LAYOUT = "mosaic_layout"
    VMEM_OOM = "vmem_oom"
    SMEM_OOM = "smem_oom"
    HBM_OOM = "hbm_oom"
    DMA = "dma"
    SEMAPHORE = "semaphore"
    OUT_OF_BOUNDS = "out_of_bounds"
    UNINITIALIZED = "uninitialized"
    RACE = "race"
    DEADLOCK = "deadlock"
    WRONG_VALUES = "wrong_values"
    WRONG_TYPE = "wrong_type"
    NOT_PALLAS = "not_pallas"
    CHEATING = "cheating"
    TIMEOUT = "timeout"
    CRASH = "crash"
    OTHER = "other"


# First match wins; each row is (exception type or "", words in the message, kind). Rows follow the table of
# docs/facts on Pallas errors, with the compiler's own words for what only it finds.
_BY_MESSAGE: tuple[tuple[str, str, FailureKind], ...] = (
    ("EntryPoint", "", FailureKind.ENTRY_POINT),
    ("Unsafe", "", FailureKind.CHEATING),
    ("SyntaxError|IndentationError|TabError", "", FailureKind.SYNTAX),
    ("", r"out of memory on HBM|exceeds available HBM|space=hbm", FailureKind.HBM_OOM),
    ("", r"memory space smem|space=smem|E1002|Smem", FailureKind.SMEM_OOM),
    ("", r"scoped vmem limit|memory space vmem|space=vmem|ScopedVmemOom|exceed memory \(size=", FailureKind.VMEM_OOM),
    (
        "",
        r"[Oo]ut-of-bounds (read|write|swap|masked|block index)|out of bounds for (shape|allocation)",
        FailureKind.OUT_OF_BOUNDS,
    ),
    ("", r"Out of bound slice", FailureKind.OUT_OF_BOUNDS),
    ("", r"Revisited block", FailureKind.RACE),
    ("", r"collective_id|barrier semaphore", FailureKind.SEMAPHORE),
    ("", r"enqueue_dma|dma_wait|dma_start|DMA source|DMA semaphore|must be Refs", FailureKind.DMA),
    ("", r"Offsets along tiled dimensions must be aligned", FailureKind.DMA),
    ("", r"divisible by 8 and 128|rank 1 block shape|MisalignedBlockAndTiling", FailureKind.BLOCK_SHAPE),
    ("", r"same number of dimensions as the array shape", FailureKind.BLOCK_RANK),
    ("", r"[Ii]ndex map function|index_map", FailureKind.INDEX_MAP),
    (
        "",
        r"Pytree for `(in|out)_specs`|in_specs`? and `?inputs|out_specs`? and `?out_shape",
        FailureKind.SPECS_MISMATCH,
    ),
    ("", r"If `grid_spec` is specified|Grid must be a tuple|grid must be", FailureKind.GRID),
    ("", r"input_output_aliases", FailureKind.ALIAS),
    ("", r"dimension semantics|dimension_semantics", FailureKind.DIMENSION_SEMANTICS),
    ("", r"Invalid dtype for `(swap|store|addupdate)`", FailureKind.DTYPE_STORE),
    ("", r"Invalid shape for `(swap|store|addupdate)`", FailureKind.SHAPE_STORE),
    ("", r"Cannot store scalars to VMEM", FailureKind.SCALAR_TO_VMEM),
    (
        "",
        r"store scalars to SMEM|load scalars from SMEM|ANY memory space|Loads are only allowed|get_ref_aval",
        FailureKind.MEMORY_SPACE,
    ),
    ("", r"captures constants", FailureKind.CAPTURED_CONSTANT),
    ("", r"Expected matmul acc to be 32-bit|preferred_element_type", FailureKind.ACCUMULATOR_DTYPE),
    ("", r"should return None|kernel function", FailureKind.KERNEL_SIGNATURE),
    ("", r"Linearization failed|differentiat|JVP|transpose rule", FailureKind.AUTODIFF),
    (
        "Tracer(Bool|Integer|Array)ConversionError|ConcretizationTypeError|NonConcreteBooleanIndexError",
        "",
        FailureKind.TRACER_CONTROL_FLOW,
    ),
    ("", r"truth value of an array", FailureKind.TRACER_CONTROL_FLOW),
    (
        "",
        r"[Uu]nimplemented primitive|no lowering rule|not implemented for .*primitive",
        FailureKind.UNSUPPORTED_PRIMITIVE,
    ),
    ("", r"Mosaic|MLIR|[Nn]ot [Ii]mplemented: |E200\d|tpu\.", FailureKind.MOSAIC_LAYOUT),
    ("NotImplementedError", "", FailureKind.UNSUPPORTED_PRIMITIVE),
    ("ModuleNotFoundError|ImportError", "", FailureKind.IMPORT_ERROR),
    ("NameError|UnboundLocalError", "", FailureKind.UNDEFINED_NAME),
    ("AttributeError", r"module 'jax[\w.]*' has no attribute|'AbstractRef'", FailureKind.API_NAME),
    (
        "TypeError",
        r"unexpected keyword argument|missing \d+ required keyword|unhashable type: 'dict'",
        FailureKind.API_KEYWORD,
    ),
    (
        "TypeError",
        r"positional arguments? but \d+ (was|were) given|required positional argument",
        FailureKind.KERNEL_SIGNATURE,
    ),
    (
        "",
        r"[Ii]ncompatible shapes|broadcast|shapes? .*(mismatch|must|do not|not equal)|contracting dim"
        r"|carry input and carry output|cannot reshape",
        FailureKind.SHAPE_MISMATCH,
    ),
    ("MemoryError|SystemExit|KeyboardInterrupt", "", FailureKind.CRASH),
)


def classify(exception_type: str, message: str, stage: str) -> FailureKind:
    """Return the kind of a failure from what was raised where.

    Args:
        exception_type: Name of the exception's class, or "".
        message: Its text.
        stage: Stage of the ladder it surfaced in.
    """
    for type_pattern, words, kind in _BY_MESSAGE:
        if type_pattern and not re.fullmatch(type_pattern, exception_type):
            continue
        if not words or re.search(words, message):
            return kind
    return FailureKind.OTHER


_EXPLANATIONS: dict[FailureKind, str] = {
    FailureKind.SYNTAX: "The file is not valid Python.",
    FailureKind.IMPORT_ERROR: "The file imports something that is not there.",
    FailureKind.ENTRY_POINT: "The file does not define workload(), which is what is called.",
    FailureKind.UNDEFINED_NAME: "A name is used that nothing defines.",
    FailureKind.API_NAME: "This JAX has no such name.",
    FailureKind.API_KEYWORD: "This call does not take these arguments in this JAX.",
    FailureKind.BLOCK_SHAPE: (
        "A block's last two dimensions must be multiples of the tile (8 x 128 for float32) or the array's own."
    ),
    FailureKind.BLOCK_RANK: "A block shape needs as many dimensions as the array.",
    FailureKind.INDEX_MAP: (
        "An index map takes one argument a grid axis and returns one integer block index a dimension."
    ),
    FailureKind.SPECS_MISMATCH: "There must be one block spec for each operand and each result.",
    FailureKind.KERNEL_SIGNATURE: (
        "The kernel takes one reference for each input, output and scratch, in that order, and returns nothing."
    ),
    FailureKind.GRID: "The grid must be a tuple of integers, given once.",
    FailureKind.ALIAS: "An aliased input and output must have the same shape and type.",
    FailureKind.DTYPE_STORE: "A value must have the type of the reference it is stored to: cast it first.",
    FailureKind.SHAPE_STORE: "A value must have the shape of the part of the reference it is stored to.",
    FailureKind.MEMORY_SPACE: (
        "This memory is not read or written that way: SMEM holds scalars, ANY and HBM need copies."
    ),
    FailureKind.SCALAR_TO_VMEM: "VMEM holds vectors: keep scalars in SMEM or store an array.",
    FailureKind.TRACER_CONTROL_FLOW: (
        "Python control flow needs a value that is only known when the kernel runs: use pl.when, lax.cond or fori_loop."
    ),
    FailureKind.CAPTURED_CONSTANT: "A kernel cannot close over arrays: pass them as inputs.",
    FailureKind.SHAPE_MISMATCH: "Two arrays of an operation do not fit together.",
    FailureKind.UNSUPPORTED_PRIMITIVE: "This operation cannot be used inside a TPU kernel.",
    FailureKind.AUTODIFF: "A pallas_call has no derivative of its own.",
    FailureKind.ACCUMULATOR_DTYPE: "A matmul accumulates in 32 bits: set preferred_element_type.",
    FailureKind.DIMENSION_SEMANTICS: "dimension_semantics needs one valid entry for each grid axis.",
    FailureKind.MOSAIC_LAYOUT: "The compiler cannot lay this access or shape out on vector registers.",
    FailureKind.VMEM_OOM: (
        "The kernel needs more vector memory than it may use: smaller blocks, or a higher vmem_limit_bytes."
    ),
    FailureKind.SMEM_OOM: "The kernel needs more scalar memory than there is.",
    FailureKind.HBM_OOM: "The program needs more memory than the device has.",
    FailureKind.DMA: "A copy's source and destination must match in shape and type, start on tiles, and be waited for.",
    FailureKind.SEMAPHORE: "A semaphore is not used as it must be: raised and waited for equally often.",
    FailureKind.OUT_OF_BOUNDS: "An access lies outside its array; on a real TPU it may be right by luck.",
    FailureKind.UNINITIALIZED: (
        "The result depends on memory that nothing wrote: an accumulator not set, an edge not masked, "
        "an output not covered."
    ),
    FailureKind.RACE: "Two accesses to the same memory are not ordered, or an output block is left and visited again.",
    FailureKind.DEADLOCK: "It waits for something that never comes.",
    FailureKind.WRONG_VALUES: "It runs, and the results are not the reference's.",
    FailureKind.WRONG_TYPE: "The results do not have the reference's number, shapes or types.",
    FailureKind.NOT_PALLAS: "The work is not done in a Pallas kernel.",
    FailureKind.CHEATING: "It does not compute what it is asked to compute.",
    FailureKind.TIMEOUT: "It took longer than it may.",
    FailureKind.CRASH: "Its process ended without an answer.",
    FailureKind.OTHER: "No rule recognises this failure.",
}


def explanation(kind: FailureKind) -> str:
    """Return what a kind means, in plain words."""
    return _EXPLANATIONS[kind]
