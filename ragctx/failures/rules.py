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


def _rule(kind: _K, *words: str, types: str = "", stage: str = "", within: str = "") -> Rule:
    pattern = re.compile("|".join(words), re.IGNORECASE)
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
    # Not the candidate's fault: no TPU was in context.
    _rule(_K.OTHER, r"TPU device kind: cpu"),
    _rule(_K.OTHER, r"^$", types="AssertionError", within=r"in _?get_tpu_(generation|info)\b(?![\s\S]*File)"),
    _rule(_K.SYNTAX, types="SyntaxError IndentationError TabError"),
    _rule(_K.SYNTAX, r"source code (string )?cannot contain null bytes", r"codec can't decode", stage="import"),
    _rule(_K.UNDEFINED_NAME, types="NameError UnboundLocalError"),
    _rule(_K.API_NAME, r"cannot import name .+ from (partially initialized module )?'jax", types="ImportError"),
    _rule(_K.API_NAME, r"No module named 'jax\.", types="ModuleNotFoundError"),
    _rule(_K.IMPORT_ERROR, types="ImportError ModuleNotFoundError"),
    _rule(_K.CRASH, types="RecursionError MemoryError SystemExit KeyboardInterrupt"),
    _rule(_K.WRONG_TYPE, r"returned a value of type .+ not a valid JAX type", r"is a static value.{0,40}output"),
    # What TPU interpret mode finds while it runs.
    _rule(
        _K.OUT_OF_BOUNDS,
        r"out-of-bounds (read|write|swap|masked swap|block index|DMA)",
        r"out of bounds for (allocation )?shape",
    ),
    _rule(_K.WRONG_VALUES, r"revisited block .+ of output"),
    # Memory, before anything else the compiler says: the texts quote whole programs.
    _rule(_K.SMEM_OOM, r"\bspace=smem\b", r"memory space smem", r"exceeded smem capacity", r"smem.{0,40}out of memory"),
    _rule(_K.SEMAPHORE, r"\bspace=sflag\b", r"memory space sflag"),
    _rule(
        _K.VMEM_OOM,
        r"\bspace=(vmem|scoped_vmem)\b",
        r"memory space vmem",
        r"scoped ?vmem",
        r"exceeded vmem capacity",
        r"vmem_limit_bytes",
        r"E1001",
        r"VMEM.{0,60}(exhausted|out of memory|exceed)",
    ),
    _rule(
        _K.HBM_OOM,
        r"out of memory (on|in memory space) HBM",
        r"\bspace=hbm\b",
        r"exceeds available HBM",
        r"hbm capacity",
        r"RESOURCE_EXHAUSTED",
        r"out of memory",
    ),
    # Blocks, index maps, specs, grid.
    _rule(
        _K.BLOCK_SHAPE,
        r"last two dimensions of (your|the) block shape",
        r"rank 1 block shapes",
        r"E2002",
        r"block shape .+ is not divisible by tiling",
        r"block dimensions must be Elements",
        r"unsupported block (shape|dim|dimension) type",
        r"block shape must be specified",
        r"evenly divide the",
    ),
    _rule(_K.BLOCK_RANK, r"must have the same number of dimensions as the array shape", r"only blocks of rank >= 1"),
    _rule(
        _K.INDEX_MAP, r"index.?map function", r"index_map returned", r"index_map for", r"return a ds from the index_map"
    ),
    _rule(_K.INDEX_MAP, r"has captured constants", types="ValueError"),
    _rule(_K.INDEX_MAP, r"^$", types="AssertionError", within=IN_INDEX_MAP),
    _rule(
        _K.INDEX_MAP,
        r"Unimplemented primitive",
        r"Unsupported",
        r"not supported",
        r"only .+ supported",
        stage="lower",
        within=IN_INDEX_MAP,
    ),
    _rule(_K.MEMORY_SPACE, r"in memory space \S+ only blocks", r"does not have trivial BlockSpec"),
    _rule(
        _K.SPECS_MISMATCH,
        r"Pytree for `(in_specs|out_specs)`",
        r"`in_specs` must be a tuple",
        r"Invalid out_shape type",
        r"pytreedef mismatch",
        r"pytree structure error",
        r"prefix pytree",
        r"(in_specs|out_specs|out_shape).{0,80}(mismatch|do not match|lengths? differ)",
    ),
    _rule(_K.BLOCK_RANK, r"zip\(\) argument", within=r"in (_spec_has_trivial_windowing|_make_block_slice)\b"),
    _rule(_K.INDEX_MAP, r"zip\(\) argument", within=IN_INDEX_MAP),
    _rule(_K.SPECS_MISMATCH, r"zip\(\) argument"),
    _rule(
        _K.GRID,
        r"Grid must (be a tuple of integers|consist of)",
        r"If `grid_spec` is specified",
        r"elements in the grid must be",
        r"program id.* was passed",
        r"passed in program id with axis",
        r"program id was requested",
        r"Invalid axis .+ for num_programs",
        r"out of bounds for grid",
        r"fully static bounds",
        r"does not match grid shape",
        r"dynamic grid bounds",
    ),
    _rule(_K.API_KEYWORD, r"backend in compiler_params", r"compiler_params for backend", r"expected a callable value"),
    _rule(_K.DIMENSION_SEMANTICS, r"dimension.semantics", r"parallel semantics"),
    _rule(
        _K.ALIAS,
        r"input_output_alias",
        r"memory space conflict for alias",
        r"must be aliased",
        r"aliasing of scalar prefetch",
    ),
    _rule(
        _K.KERNEL_SIGNATURE,
        r"kernel function .+ should return None",
        r"body function must return None",
        r"must not return any outputs",
    ),
    _rule(
        _K.CAPTURED_CONSTANT, r"captures .{0,20}\bconstants", r"should not capture const", r"pallas_call with constants"
    ),
    # Autodiff.
    _rule(
        _K.AUTODIFF,
        r"Linearization failed",
        r"Differentiation rule for",
        r"Transpose rule .+ not implemented",
        r"JVP with aliasing",
        r"does not support (JVP|reverse-mode)",
        r"reverse-mode (differentiation|autodiff) does not",
        r"pallas_call.{0,40}jvp",
        r"forward-mode autodiff",
        r"custom_vjp",
        r"custom_jvp",
        r"grad requires",
    ),
    _rule(_K.AUTODIFF, types="AssertionError NotImplementedError ValueError", within=_IN_AUTODIFF),
    # Control flow on traced values.
    _rule(_K.TRACER_CONTROL_FLOW, types=_TRACER_ERRORS),
    _rule(
        _K.TRACER_CONTROL_FLOW,
        r"boolean conversion of traced",
        r"truth value of an array",
        r"escaped through a side effect",
        r"(must|to) be (static|concrete)",
        r"concrete values? (is expected|was not available)",
        r"concrete values of integer type, got .*Trace",
        r"static (start/stop/step|integers)",
        r"__index__\(\) method",
        r"numpy\.ndarray conversion method",
        r"dynamic number of steps",
        r"is not a (concrete|static) value",
        r"with the `item` method",
        r"'\S*Tracer' object cannot be interpreted as an integer",
        r"of unhashable .*Tracer",
        r"Tracer.* not hashable",
    ),
    _rule(_K.SHAPE_MISMATCH, r"concrete values of integer type, got"),
    # Stores and memory spaces.
    _rule(_K.DTYPE_STORE, r"Invalid dtype for `(swap|addupdate|store)`"),
    _rule(_K.SHAPE_STORE, r"Invalid shape for `(swap|addupdate|store)`", r"Cannot store a Ref into another Ref"),
    _rule(_K.SCALAR_TO_VMEM, r"Cannot (store|swap) scalars (to|in) VMEM"),
    _rule(
        _K.MEMORY_SPACE,
        r"scalars (to|from) SMEM",
        r"SMEM store",
        r"only allowed on VMEM and SMEM",
        r"only be accessed using async_copy",
        r"get_ref_aval",
        r"get_array_aval",
        r"invalid memory space",
        r"unsupported (buffer )?memory space",
        r"PRNG keys must be loaded",
        r"memory space .+ (is not supported|does not match)",
        r"VMEM inputs/outputs when",
    ),
    # Copies and semaphores.
    _rule(
        _K.DMA,
        r"enqueue_dma",
        r"\bdma_(start|wait)",
        r"\bDMA\b",
        r"async_copy",
        r"wait_send",
        r"src_sem",
        r"use tpu\.assume_multiple",
        r"tile index in dimension .+ divisible by the tiling",
        r"communication in pallas_call",
        r"tpu\.memref_slice\S*.{0,200}(align|divisib)",
        r"Slice shape along dimension .+ must be aligned",
        r"device_id",
    ),
    _rule(_K.SEMAPHORE, r"semaphore", r"collective_id", r"barrier", r"signal an int32", r"wait an int32"),
    # Refs taken for values, before the general attribute errors.
    _rule(
        _K.SHAPE_MISMATCH,
        rf"'{_REF}' object (has no attribute|is not|does not support)",
        r"pass a Ref .+ to a primitive",
        rf"{_REF}.{{0,80}}is not a valid JAX",
        r"Can only call `\w+` on a `?Ref",
        r"must be called on `Ref`",
        r"'NoneType' object (has no attribute|is not)",
        r"unsupported operand type",
        r"bad operand type",
    ),
    # Names and calls of the API.
    _rule(_K.ENTRY_POINT, r"(no|has no|defines no) (attribute|function) ['`]?(workload|Model)\b"),
    _rule(_K.API_NAME, r"module '\S+' has no attribute", r"type object '\w+' has no attribute", types="AttributeError"),
    _rule(_K.API_NAME, types="AttributeError"),
    _rule(
        _K.API_KEYWORD,
        r"unhashable type",
        r"compiler_params must be",
        r"does not support the context manager",
        r"__enter__",
        r"'(function|method|builtin_function_or_method|type)' object is not (iterable|subscriptable)",
        r"invalid keyword argument",
        r"invalid argument",
        r"Argument to jax\.\S+ must",
        r"unsupported pipeline mode",
        r"has been removed\. Please",
        r"problematic value is of type <class '[^']*(_ScalarMeta|\bstr|\btype|function|dtype)'",
        r"cannot specify both",
        r"must (both )?be (both )?(set|specified|provided)",
        r"only one of .+ can be",
        r"requires a non-negative",
        r"format string",
        r"shift must be non-negative",
        r"(axis|stride_axis) is out of range",
        r"stride must be non-negative",
        r"must be an int: provided with",
        r"All fields in CostEstimate",
        r"buffer_count",
        r"object is not callable",
        r"Compiler params for platform",
        r"mesh (cannot|must) be",
        r"cannot both be provided",
        r"interpret mode",
    ),
    _rule(_K.API_KEYWORD, r"^$", types="AssertionError", within=r"in pallas_call_tpu_lowering_rule\b(?![\s\S]*File)"),
    # Bounds and shapes known while tracing.
    _rule(_K.OUT_OF_BOUNDS, r"Out of bound (slice|indexer)", r"index \S+ is out of bounds for axis", r"out-of-bounds"),
    _rule(
        _K.ACCUMULATOR_DTYPE,
        r"Expected matmul acc to be 32-bit",
        r"accumulat\w+ .{0,60}32.?bit",
        r"preferred_element_type",
    ),
    _rule(
        _K.UNSUPPORTED_PRIMITIVE,
        r"Unimplemented primitive",
        r"Scan with \d+ extensive",
        r"take_along_axis-like",
        r"Reductions over",
        r"Unsupported (gather|cast|dot precision|rounding|dtype|type in mosaic|element|constant)",
        r"Only (single axis|index_dtype|float32|bfloat16|arrays with 32-bit|32-bit integer iota)",
        r"64-bit types",
        r"Unsigned integer",
        r"on the Pallas Mosaic TPU",
        r"Lowering rule",
        r"No state discharge rule",
    ),
    _rule(_K.SHAPE_MISMATCH, r"Shape mismatch in input, indices and output", stage="trace"),
    _rule(_K.UNSUPPORTED_PRIMITIVE, r"Shape mismatch in input, indices and output", stage="lower"),
    # Mosaic: first what it says of types and operations, then of shapes and offsets.
    _rule(
        _K.MOSAIC_LAYOUT, r"E2003", r"cannot statically prove", r"unsupported shape cast", r"last dim size is not 128"
    ),
    _rule(
        _K.UNSUPPORTED_PRIMITIVE,
        r"Bad lhs/rhs type",
        r"failed to legalize operation '(arith|math)",
        r"Please cast your input",
        r"Invalid vector type for",
        r"(un|not )supported (element |vector )?type",
        r"target does not support",
        r"Invalid (vector )?element type",
        r"Only vector<i16> and vector<i32>",
        r"expected strides to be confined",
        r"must be vector of (integer|floating|32-bit)",
        r"VectorElementType",
        r"positive constant sizes",
    ),
    _rule(
        _K.MOSAIC_LAYOUT,
        r"Mosaic failed",
        r"infer-vector-layout",
        r"apply-vector-layout",
        r"relayout",
        r"unsupported layout",
        r"Bad lane",
    ),
    _rule(_K.UNSUPPORTED_PRIMITIVE, types="VerificationError MLIRError"),
    _rule(_K.MEMORY_SPACE, r"in SMEM\b", r"from VMEM", r"to VMEM"),
    # Operands that do not fit.
    _rule(
        _K.SHAPE_MISMATCH,
        r"incompatible shapes",
        r"shapes? .{0,60}(mismatch|must match|must be equal|do not match)",
        r"broadcast",
        r"equal types",
        r"identical types",
        r"equal output types",
        r"same (type|dtype|shape|rank|number of dim)",
        r"requires .+ (argument|operand|dimension|shape|dtype|rank|size|got)",
        r"cannot reshape",
        r"contracting",
        r"values to unpack",
        r"cannot unpack",
        r"tuple index out of range",
        r"list index out of range",
        r"not a valid JAX (array )?type",
        r"Error interpreting argument",
        r"cannot interpret value",
        r"dtypes? .{0,40}not",
        r"axis .+ is out of bounds",
        r"Einstein sum",
        r"transpose permutation",
        r"too many indices",
        r"rank",
        r"`indices` must",
        r"must have (integer|the same)",
        r"iota dimension",
        r"must have ndim",
        r"cannot squeeze",
        r"cannot select",
        r"size of .+ must",
    ),
    _rule(
        _K.SHAPE_MISMATCH,
        r"must be (a )?(\d-?D|scalar)",
        r"must have (at least|shape|\d)",
        r"shape\S* (!=|does not match|must be)",
        r"mixed dtype",
        r"dtype change",
        r"different number of elements",
        r"only one ellipsis",
        r"number of indices",
        r"dimension can be -1",
        r"non-shaped array",
    ),
    _rule(_K.TRACER_CONTROL_FLOW, r"non-static"),
    _rule(_K.BLOCK_SHAPE, r"block_?size must divide", r"block size must divide", r"minormost dimension of a block"),
    _rule(_K.ALIAS, r"WriteEffect .+ input buffer"),
    _rule(
        _K.UNSUPPORTED_PRIMITIVE,
        r"\b(un|not )supported\b",
        r"\bnot (implemented|support)\b",
        r"only supports?\b",
        r"cannot (allocate|determine dtype|do int indexing|lower)",
        r"can only use \(\)-shaped",
        stage="lower",
    ),
    _rule(_K.UNSUPPORTED_PRIMITIVE, r"not supported\b", r"does not support", r"not implemented", stage="trace"),
    _rule(_K.GRID, types="ZeroDivisionError"),
)

# What the failures of a stage are, and exceptions of a type, where no rule knows the words.
BY_STAGE = {"parse": _K.SYNTAX, "import": _K.IMPORT_ERROR, "compile": _K.MOSAIC_LAYOUT}
BY_TYPE = {
    "NotImplementedError": _K.UNSUPPORTED_PRIMITIVE,
    "LoweringException": _K.UNSUPPORTED_PRIMITIVE,
    "TypeError": _K.SHAPE_MISMATCH,
    "AssertionError": _K.SHAPE_MISMATCH,
    "IndexError": _K.SHAPE_MISMATCH,
}
