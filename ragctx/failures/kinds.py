"""The closed list of failure kinds, each with a plain explanation."""

from __future__ import annotations

import enum


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


_EXPLANATIONS = {
    FailureKind.SYNTAX: "The file is not valid Python. Fix the line that is named; nothing of the file was run.",
    FailureKind.IMPORT_ERROR: (
        "Importing the file failed: a module is missing, or its top-level code raised. Import only jax, numpy and "
        "the standard library, and do no work at import time."
    ),
    FailureKind.ENTRY_POINT: (
        "The function that is called is missing or takes other arguments. Define `workload(*inputs)` with the "
        "workload's own signature."
    ),
    FailureKind.UNDEFINED_NAME: (
        "A name is used that nothing defines at that point. Import or define it, or correct its spelling."
    ),
    FailureKind.API_NAME: "This JAX has no such name: it was renamed, removed, or never existed. Use the present name.",
    FailureKind.API_KEYWORD: (
        "A JAX function was called with arguments that it does not take in this version. Check its signature."
    ),
    FailureKind.BLOCK_SHAPE: (
        "The TPU cannot tile this block. Its last two dimensions must be multiples of 8 and 128 (int8: 32 and "
        "128), or equal the array's; a 1-D block must be the whole array or a multiple of 1024."
    ),
    FailureKind.BLOCK_RANK: (
        "A block has another number of dimensions than its array. Give one entry a dimension of the array; None "
        "squeezes a dimension away."
    ),
    FailureKind.INDEX_MAP: (
        "An index map does not fit. It takes one argument a grid axis (then the prefetched scalars), returns one "
        "integer block index a dimension, and may read no array but prefetched scalars."
    ),
    FailureKind.SPECS_MISMATCH: (
        "The specs do not match what is passed. Give one in_spec an input (none for prefetched scalars) and one "
        "out_spec an output, in the same structure."
    ),
    FailureKind.KERNEL_SIGNATURE: (
        "A function is called with other arguments than it takes, or returns what it must not. A kernel takes "
        "prefetched scalars, inputs, outputs and scratch, in this order, and returns None."
    ),
    FailureKind.GRID: (
        "The grid is wrong: it must be a tuple of integers (divide with // or pl.cdiv), is given once, in grid= "
        "or in grid_spec=, and has every axis that program_id asks for."
    ),
    FailureKind.ALIAS: (
        "input_output_aliases pairs arrays that cannot share memory. Input and output must have the same shape "
        "and dtype; the input's index counts prefetched scalars."
    ),
    FailureKind.DTYPE_STORE: (
        "A value of another dtype is stored into a ref. Cast it: `ref[...] = value.astype(ref.dtype)`."
    ),
    FailureKind.SHAPE_STORE: (
        "A value of another shape is stored into a ref. Stores do not broadcast: keep reduced dimensions with "
        "keepdims, or use jnp.full or jnp.zeros_like."
    ),
    FailureKind.MEMORY_SPACE: (
        "A ref is used in a way its memory space does not allow. VMEM holds arrays, SMEM is read and written one "
        "scalar at a time, ANY and HBM are only copied; scratch shapes are pltpu.VMEM((...), dtype) and the like."
    ),
    FailureKind.SCALAR_TO_VMEM: (
        "A scalar is stored to VMEM, which takes arrays only. Store a (1, 1) array (keepdims), or keep the scalar "
        "in SMEM."
    ),
    FailureKind.TRACER_CONTROL_FLOW: (
        "Python control flow, a Python conversion or a NumPy function met a value that is known only at run time. "
        "Use pl.when, jnp.where, lax.fori_loop, pl.ds(start, size), & and |, and jnp functions."
    ),
    FailureKind.CAPTURED_CONSTANT: (
        "The kernel uses an array from outside itself. Pass it as an input with its own spec; Python numbers may "
        "be captured."
    ),
    FailureKind.SHAPE_MISMATCH: (
        "Operands do not fit: shapes or dtypes clash, a loop's carry changes its type, or a ref is used where a "
        "value is needed (load it with `ref[...]`)."
    ),
    FailureKind.UNSUPPORTED_PRIMITIVE: (
        "Pallas on TPU has no lowering for this operation or element type. Write it with operations that lower, "
        "do it outside the kernel, or cast (to float32 or int32)."
    ),
    FailureKind.AUTODIFF: (
        "JAX cannot differentiate through this pallas_call. Write the backward pass as a kernel and register both "
        "with jax.custom_vjp."
    ),
    FailureKind.ACCUMULATOR_DTYPE: (
        "A matmul must accumulate in 32 bits. Pass preferred_element_type=jnp.float32 (jnp.int32 for int8) and "
        "cast the result."
    ),
    FailureKind.DIMENSION_SEMANTICS: 'dimension_semantics must name each grid axis once, as "parallel" or "arbitrary".',
    FailureKind.MOSAIC_LAYOUT: (
        "The TPU compiler cannot lay this out in vector registers. Keep the last dimension and its slices at "
        "multiples of 128, slice rows rather than lanes, and avoid reshapes that change the last dimension."
    ),
    FailureKind.VMEM_OOM: (
        "The kernel needs more VMEM than it may use. Use smaller blocks (inputs and outputs are held twice), or "
        "raise vmem_limit_bytes if the chip has more."
    ),
    FailureKind.SMEM_OOM: (
        "The kernel needs more than the 1 MiB of SMEM. Keep only scalars there, in flat arrays: the last "
        "dimension is padded to 128 words."
    ),
    FailureKind.HBM_OOM: (
        "The program needs more HBM than the chip has. Do not write large intermediates: fuse them into the "
        "kernel, or work in pieces."
    ),
    FailureKind.DMA: (
        "A copy is ill-formed. Source and destination must be refs (`ref.at[...]`) of equal shape and dtype, the "
        "semaphore a DMA semaphore, offsets along the last two dimensions whole tiles."
    ),
    FailureKind.SEMAPHORE: (
        "A semaphore is used wrongly. Signal and wait on a single semaphore ref of the right type; a barrier "
        "semaphore needs CompilerParams(collective_id=)."
    ),
    FailureKind.OUT_OF_BOUNDS: (
        "An index is outside its array; on a real TPU it may be right by luck. Index maps return block numbers, "
        "not element offsets; check the grid, loop bounds and pl.ds starts."
    ),
    FailureKind.UNINITIALIZED: (
        "The result depends on memory that was never written. Write every output block, clear accumulators at the "
        "first step, and mask the part of an edge block that is outside the array."
    ),
    FailureKind.RACE: (
        "Two accesses to the same memory are not ordered: a copy in flight and a load or store, or steps on two "
        'cores. Wait for each copy before using its buffers; make axes that share state "arbitrary".'
    ),
    FailureKind.DEADLOCK: (
        "The kernel waits for something that never comes. Every wait needs a start or signal on the same "
        "semaphore, exactly once."
    ),
    FailureKind.WRONG_VALUES: (
        "It runs, but the results differ from the reference's by more than the tolerance. Check the arithmetic, "
        "the order of index maps, masks, and that no output block is left and visited again."
    ),
    FailureKind.WRONG_TYPE: (
        "The results have another structure, shape or dtype than the reference's. Return what the workload returns."
    ),
    FailureKind.NOT_PALLAS: "Too little of the work happens inside pallas_call. Move the computation into the kernel.",
    FailureKind.CHEATING: (
        "The candidate does not compute the result from its inputs, in the precision asked for, as a kernel must."
    ),
    FailureKind.TIMEOUT: (
        "It used up its time. Look for an endless loop, a very long unrolled loop, or a grid of far too many steps."
    ),
    FailureKind.CRASH: "The process died without an exception: a fault in native code, an exit, or endless recursion.",
    FailureKind.OTHER: "No known pattern matches this failure; read the message.",
}


def explanation(kind: FailureKind) -> str:
    """Return in one or two plain sentences what a kind means and what to do about it."""
    return _EXPLANATIONS[kind]
