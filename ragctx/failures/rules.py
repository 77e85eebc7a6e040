"""The words by which a failure is known, in the order in which they are tried.

A pattern is the part of a message that JAX 0.6.2 to 0.10.2 and their libtpu versions have in common; where they say it
differently, there is an alternative for each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragctx.failures.kinds import FailureKind as _K


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind and what must hold of a failure that is of it: everything given must match.

    Attributes:
        kind: The kind.
        message: Searched for in the message.
        types: Names of exception types, or empty for any.
        stage: The stage, or empty for any.
        within: Searched for in the traceback, or None.
    """

    kind: _K
    message: re.Pattern[str]
    types: tuple[str, ...] = ()
    stage: str = ""
    within: re.Pattern[str] | None = None

    def matches(self, exception_type: str, message: str, stage: str, traceback: str) -> bool:
        """Return whether the rule knows this failure."""
        return (
            (not self.types or exception_type in self.types)
            and (not self.stage or stage == self.stage)
            and self.message.search(message) is not None
            and (self.within is None or self.within.search(traceback) is not None)
        )


def _rule(kind: _K, message: str = "", *, types: str = "", stage: str = "", within: str = "") -> Rule:
    pattern = re.compile(message, re.IGNORECASE)
    return Rule(kind, pattern, tuple(types.split()), stage, re.compile(within) if within else None)


# Functions of JAX that stand in a traceback with JAX's own frames (JAX_TRACEBACK_FILTERING=off).
IN_INDEX_MAP = (
    r"in (to_block_mapping|_convert_block_spec_to_block_mapping|lower_jaxpr_to_transform_func|compute_index"
    r"|get_dma_slice|_make_block_slice|has_changed|will_change_current|_get_block_indices|index_map)\b"
)
IN_KERNEL_CALL = (
    r"in (_trace_kernel_to_jaxpr|wrap_with_transforms|run_scoped|core_map|emit_pipeline"
    r"|fori_loop|while_loop|scan|cond)\b"
)
_IN_AUTODIFF = r"in (_pallas_call_jvp_rule|linearize_from_jvp|jvp_jaxpr|backward_pass)\b"
_REF = r"(AbstractRef|AbstractMemoryRef|MemRef|MemoryRef|TransformedRef|RefView|AbstractTransformedRef)"
_TRACER_ERRORS = (
    "TracerBoolConversionError TracerIntegerConversionError TracerArrayConversionError ConcretizationTypeError"
    " UnexpectedTracerError NonConcreteBooleanIndexError"
)

RULES = (
    _rule(_K.ENTRY_POINT, types="EntryPoint"),
    _rule(_K.CHEATING, types="Unsafe"),
    _rule(_K.SYNTAX, types="SyntaxError IndentationError TabError"),
    _rule(_K.SYNTAX, r"source code (string )?cannot contain null bytes|codec can't decode", stage="import"),
    _rule(_K.UNDEFINED_NAME, types="NameError UnboundLocalError"),
    _rule(_K.API_NAME, r"cannot import name .+ from (partially initialized module )?'jax", types="ImportError"),
    _rule(_K.API_NAME, r"No module named 'jax\.", types="ModuleNotFoundError"),
    _rule(_K.IMPORT_ERROR, types="ImportError ModuleNotFoundError"),
    _rule(_K.CRASH, types="RecursionError MemoryError SystemExit KeyboardInterrupt"),
    # What TPU interpret mode finds while it runs.
    _rule(
        _K.OUT_OF_BOUNDS,
        r"out-of-bounds (read|write|swap|masked swap|block index|DMA)|out of bounds for (allocation )?shape",
    ),
    _rule(_K.WRONG_VALUES, r"revisited block .+ of output"),
    # Memory, before anything else the compiler says: the texts quote whole programs.
    _rule(_K.SMEM_OOM, r"\bspace=smem\b|memory space smem|exceeded smem capacity|smem.{0,40}out of memory"),
    _rule(_K.SEMAPHORE, r"\bspace=sflag\b|memory space sflag"),
    _rule(
        _K.VMEM_OOM,
        r"\bspace=(vmem|scoped_vmem)\b|memory space vmem|scoped ?vmem|exceeded vmem capacity|vmem_limit_bytes",
    ),
    _rule(_K.VMEM_OOM, r"E1001|VMEM.{0,60}(exhausted|out of memory|exceed)"),
    _rule(_K.HBM_OOM, r"out of memory (on|in memory space) HBM|\bspace=hbm\b|exceeds available HBM|hbm capacity"),
    _rule(_K.HBM_OOM, r"RESOURCE_EXHAUSTED|out of memory"),
    # Blocks, index maps, specs, grid.
    _rule(_K.BLOCK_SHAPE, r"last two dimensions of (your|the) block shape|rank 1 block shapes"),
    _rule(_K.BLOCK_SHAPE, r"E2002|block shape .+ is not divisible by tiling|block dimensions must be Elements"),
    _rule(
        _K.BLOCK_SHAPE, r"unsupported block (shape|dim|dimension) type|block shape must be specified|evenly divide the"
    ),
    _rule(_K.BLOCK_RANK, r"must have the same number of dimensions as the array shape|only blocks of rank >= 1"),
    _rule(_K.INDEX_MAP, r"index.?map function|index_map returned|index_map for|return a ds from the index_map"),
    _rule(_K.INDEX_MAP, r"has captured constants", types="ValueError"),
    _rule(_K.INDEX_MAP, r"^$", types="AssertionError", within=IN_INDEX_MAP),
    _rule(
        _K.INDEX_MAP,
        r"Unimplemented primitive|Unsupported|not supported|only .+ supported",
        stage="lower",
        within=IN_INDEX_MAP,
    ),
    _rule(_K.MEMORY_SPACE, r"in memory space \S+ only blocks|does not have trivial BlockSpec"),
    _rule(_K.SPECS_MISMATCH, r"Pytree for `(in_specs|out_specs)`|`in_specs` must be a tuple|Invalid out_shape type"),
    _rule(
        _K.SPECS_MISMATCH,
        r"pytreedef mismatch|(in_specs|out_specs|out_shape).{0,80}(mismatch|do not match|lengths? differ)",
    ),
    _rule(
        _K.GRID,
        r"Grid must (be a tuple of integers|consist of)|If `grid_spec` is specified|elements in the grid must be",
    ),
    _rule(
        _K.GRID,
        r"program id.* was passed|program id was requested|Invalid axis .+ for num_programs|out of bounds for grid",
    ),
    _rule(_K.GRID, r"fully static bounds|does not match grid shape|dynamic grid bounds"),
    _rule(_K.DIMENSION_SEMANTICS, r"dimension.semantics"),
    _rule(_K.ALIAS, r"input_output_alias|memory space conflict for alias|must be aliased|aliasing of scalar prefetch"),
    _rule(
        _K.KERNEL_SIGNATURE,
        r"kernel function .+ should return None|body function must return None|must not return any outputs",
    ),
    _rule(
        _K.CAPTURED_CONSTANT, r"captures (non-scalar )?constants|should not capture const|pallas_call with constants"
    ),
    # Autodiff.
    _rule(
        _K.AUTODIFF,
        r"Linearization failed|Differentiation rule for|Transpose rule .+ not implemented|JVP with aliasing",
    ),
    _rule(
        _K.AUTODIFF,
        r"does not support (JVP|reverse-mode)|reverse-mode (differentiation|autodiff) does not|pallas_call.{0,40}jvp",
    ),
    _rule(_K.AUTODIFF, r"forward-mode autodiff|custom_vjp|custom_jvp|grad requires"),
    _rule(_K.AUTODIFF, types="AssertionError NotImplementedError ValueError", within=_IN_AUTODIFF),
    # Control flow on traced values.
    _rule(
        _K.TRACER_CONTROL_FLOW,
        types=_TRACER_ERRORS,
    ),
    _rule(
        _K.TRACER_CONTROL_FLOW, r"boolean conversion of traced|truth value of an array|escaped through a side effect"
    ),
    _rule(
        _K.TRACER_CONTROL_FLOW,
        r"(must|to) be (static|concrete)|concrete values? (of integer type|is expected|was not available)",
    ),
    _rule(
        _K.TRACER_CONTROL_FLOW,
        r"static (start/stop/step|integers)|__index__\(\) method|numpy\.ndarray conversion method",
    ),
    _rule(_K.TRACER_CONTROL_FLOW, r"dynamic number of steps|is not a (concrete|static) value|with the `item` method"),
    _rule(
        _K.TRACER_CONTROL_FLOW,
        r"'\S*Tracer' object cannot be interpreted as an integer|of unhashable .*Tracer|Tracer.* not hashable",
    ),
    # Stores and memory spaces.
    _rule(_K.DTYPE_STORE, r"Invalid dtype for `(swap|addupdate|store)`"),
    _rule(_K.SHAPE_STORE, r"Invalid shape for `(swap|addupdate|store)`|Cannot store a Ref into another Ref"),
    _rule(_K.SCALAR_TO_VMEM, r"Cannot (store|swap) scalars (to|in) VMEM"),
    _rule(
        _K.MEMORY_SPACE,
        r"scalars (to|from) SMEM|SMEM store|only allowed on VMEM and SMEM|only be accessed using async_copy",
    ),
    _rule(
        _K.MEMORY_SPACE,
        r"get_ref_aval|get_array_aval|invalid memory space|unsupported (buffer )?memory space|PRNG keys must be loaded",
    ),
    _rule(_K.MEMORY_SPACE, r"memory space .+ (is not supported|does not match)|VMEM inputs/outputs when"),
    # Copies and semaphores.
    _rule(_K.DMA, r"enqueue_dma|\bdma_(start|wait)|\bDMA\b|async_copy|wait_send|src_sem"),
    _rule(
        _K.DMA,
        r"use tpu\.assume_multiple|tile index in dimension .+ divisible by the tiling|communication in pallas_call",
    ),
    _rule(_K.DMA, r"tpu\.memref_slice\S*.{0,200}(align|divisib)|Slice shape along dimension .+ must be aligned"),
    _rule(_K.DMA, r"device_id"),
    _rule(_K.SEMAPHORE, r"semaphore|collective_id|barrier|signal an int32|wait an int32"),
    # Refs taken for values, before the general attribute errors.
    _rule(
        _K.SHAPE_MISMATCH, rf"'{_REF}' object (has no attribute|is not|does not support)|pass a Ref .+ to a primitive"
    ),
    _rule(
        _K.SHAPE_MISMATCH, rf"{_REF}.{{0,80}}is not a valid JAX|Can only call `\w+` on a `?Ref|must be called on `Ref`"
    ),
    _rule(_K.SHAPE_MISMATCH, r"'NoneType' object (has no attribute|is not)|unsupported operand type|bad operand type"),
    # Names and calls of the API.
    _rule(_K.ENTRY_POINT, r"(no|has no|defines no) (attribute|function) ['`]?(workload|Model)\b"),
    _rule(_K.API_NAME, r"module '\S+' has no attribute|type object '\w+' has no attribute", types="AttributeError"),
    _rule(_K.API_NAME, types="AttributeError"),
    _rule(_K.API_KEYWORD, r"unhashable type|compiler_params must be|does not support the context manager|__enter__"),
    _rule(
        _K.API_KEYWORD, r"'(function|method|builtin_function_or_method|type)' object is not (iterable|subscriptable)"
    ),
    _rule(_K.API_KEYWORD, r"shift must be non-negative|(axis|stride_axis) is out of range|stride must be non-negative"),
    _rule(
        _K.API_KEYWORD, r"must be an int: provided with|All fields in CostEstimate|buffer_count|object is not callable"
    ),
    _rule(_K.API_KEYWORD, r"Compiler params for platform|mesh (cannot|must) be|cannot both be provided|interpret mode"),
    # Bounds and shapes known while tracing.
    _rule(_K.OUT_OF_BOUNDS, r"Out of bound (slice|indexer)|index \S+ is out of bounds for axis|out-of-bounds"),
    _rule(_K.ACCUMULATOR_DTYPE, r"Expected matmul acc to be 32-bit|accumulat\w+ .{0,60}32.?bit|preferred_element_type"),
    _rule(
        _K.UNSUPPORTED_PRIMITIVE,
        r"Unimplemented primitive|Scan with \d+ extensive|take_along_axis-like|Reductions over",
    ),
    _rule(
        _K.UNSUPPORTED_PRIMITIVE,
        r"Unsupported (gather|cast|dot precision|rounding|dtype|type in mosaic|element|constant)",
    ),
    _rule(
        _K.UNSUPPORTED_PRIMITIVE,
        r"Only (single axis|index_dtype|float32|bfloat16|arrays with 32-bit|32-bit integer iota)",
    ),
    _rule(
        _K.UNSUPPORTED_PRIMITIVE,
        r"64-bit types|Unsigned integer|on the Pallas Mosaic TPU|Lowering rule|No state discharge rule",
    ),
    _rule(_K.SHAPE_MISMATCH, r"Shape mismatch in input, indices and output", stage="trace"),
    _rule(_K.UNSUPPORTED_PRIMITIVE, r"Shape mismatch in input, indices and output", stage="lower"),
    # Mosaic: first what it says of types and operations, then of shapes and offsets.
    _rule(_K.MOSAIC_LAYOUT, r"E2003|cannot statically prove|unsupported shape cast|last dim size is not 128"),
    _rule(
        _K.UNSUPPORTED_PRIMITIVE, r"Bad lhs/rhs type|failed to legalize operation '(arith|math)|Please cast your input"
    ),
    _rule(
        _K.UNSUPPORTED_PRIMITIVE,
        r"Invalid vector type for|(un|not )supported (element |vector )?type|target does not support",
    ),
    _rule(
        _K.UNSUPPORTED_PRIMITIVE,
        r"Invalid (vector )?element type|Only vector<i16> and vector<i32>|expected strides to be confined",
    ),
    _rule(
        _K.UNSUPPORTED_PRIMITIVE,
        r"must be vector of (integer|floating|32-bit)|VectorElementType|positive constant sizes",
    ),
    _rule(
        _K.MOSAIC_LAYOUT, r"Mosaic failed|infer-vector-layout|apply-vector-layout|relayout|unsupported layout|Bad lane"
    ),
    # Operands that do not fit.
    _rule(
        _K.SHAPE_MISMATCH,
        r"incompatible shapes|shapes? .{0,60}(mismatch|must match|must be equal|do not match)|broadcast",
    ),
    _rule(
        _K.SHAPE_MISMATCH, r"equal types|identical types|equal output types|same (type|dtype|shape|rank|number of dim)"
    ),
    _rule(
        _K.SHAPE_MISMATCH,
        r"requires .+ (argument|operand|dimension|shape|dtype|rank|size|got)|cannot reshape|contracting",
    ),
    _rule(_K.SHAPE_MISMATCH, r"values to unpack|cannot unpack|tuple index out of range|list index out of range"),
    _rule(
        _K.SHAPE_MISMATCH,
        r"not a valid JAX (array )?type|Error interpreting argument|cannot interpret value|dtypes? .{0,40}not",
    ),
    _rule(_K.SHAPE_MISMATCH, r"axis .+ is out of bounds|Einstein sum|transpose permutation|too many indices|rank"),
    _rule(
        _K.SHAPE_MISMATCH, r"`indices` must|must have (integer|the same)|cannot squeeze|cannot select|size of .+ must"
    ),
    _rule(_K.GRID, types="ZeroDivisionError"),
)

# What the failures of a stage are, and exceptions of a type, where no rule knows the words.
BY_STAGE = {"parse": _K.SYNTAX, "import": _K.IMPORT_ERROR, "compile": _K.MOSAIC_LAYOUT}
BY_TYPE = {
    "NotImplementedError": _K.UNSUPPORTED_PRIMITIVE,
    "VerificationError": _K.UNSUPPORTED_PRIMITIVE,
    "MLIRError": _K.UNSUPPORTED_PRIMITIVE,
    "LoweringException": _K.UNSUPPORTED_PRIMITIVE,
    "TypeError": _K.SHAPE_MISMATCH,
    "AssertionError": _K.SHAPE_MISMATCH,
    "IndexError": _K.SHAPE_MISMATCH,
}
