"""Kinds of failure: the words of five JAX versions, and what a reader is shown of them."""

# ruff: noqa: E501  (messages stand as they are)

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ragctx.failures import FailureKind, classify, explanation, first_line

K = FailureKind
# Distinct messages of wrong kernels and of mutated examples, under JAX 0.6.2, 0.7.2, 0.8.3, 0.9.2 and 0.10.2; each was
# looked at. Paths are shortened, tracebacks reduced to the frames of JAX that decide.
RECORDED: list[dict[str, Any]] = json.loads(
    (Path(__file__).resolve().parent / "failures_recorded.json").read_text(encoding="utf-8")
)

BUG = "Pallas encountered an internal verification error. Please file a bug at https://github.com/jax-ml/jax/issues/new/choose. Error details: "
MOSAIC = "INTERNAL: Mosaic failed to compile TPU kernel: "


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_is_explained_in_plain_sentences(kind: FailureKind) -> None:
    text = explanation(kind)
    assert text[0].isupper() or text.startswith(("input_output_aliases", "dimension_semantics"))
    assert text.endswith(".")
    assert 30 < len(text) < 300
    assert "\n" not in text


def test_explanations_differ() -> None:
    assert len({explanation(kind) for kind in FailureKind}) == len(FailureKind)


# The same mistake in the words of an old and of a new version.
@pytest.mark.parametrize(
    ("kind", "stage", "exception", "message"),
    [
        (K.SYNTAX, "parse", "SyntaxError", "'(' was never closed (f.py, line 3)"),
        (K.IMPORT_ERROR, "import", "ModuleNotFoundError", "No module named 'triton'"),
        (K.IMPORT_ERROR, "import", "KeyError", "'KERNEL_BLOCK_ROWS'"),
        (K.API_NAME, "import", "ImportError", "cannot import name 'TPUMemorySpace' from 'jax.experimental.pallas.tpu' (x)"),
        (K.API_NAME, "trace", "AttributeError", "module 'jax.experimental.pallas.tpu' has no attribute 'ANY'"),
        (K.API_NAME, "trace", "AttributeError", "type object 'MemorySpace' has no attribute 'ANY'"),
        (K.API_KEYWORD, "trace", "TypeError", "CompilerParams.__init__() got an unexpected keyword argument 'mosaic'"),
        (K.API_KEYWORD, "lower", "TypeError", "unhashable type: 'dict'"),
        (K.ENTRY_POINT, "trace", "TypeError", "workload() takes 1 positional argument but 2 were given"),
        (K.UNDEFINED_NAME, "trace", "UnboundLocalError", "cannot access local variable 'y' where it is not associated"),
        (K.ALIAS, "trace", "ValueError", "input_output_aliases contains the mapping '0:1' with output index 1 outside"),
        (K.SHAPE_MISMATCH, "trace", "AttributeError", "'AbstractMemoryRef' object has no attribute '_mul'"),
        (K.SHAPE_MISMATCH, "trace", "AttributeError", "'AbstractRef' object has no attribute '_mul'"),
        (K.SHAPE_MISMATCH, "trace", "ValueError", " Attempting to pass a Ref MemRef<None>{float32[64,128]} to a primitive: exp"),
        (K.MEMORY_SPACE, "trace", "AttributeError", "'int' object has no attribute 'get_ref_aval'"),
        (K.DMA, "trace", "ValueError", "`JaxprInputEffect` Read<0> does not have corresponding jaxpr input: dma_start(p0)"),
        (K.DMA, "trace", "ValueError", "DMA source/destination/semaphore arguments must be Refs."),
        (K.DIMENSION_SEMANTICS, "lower", "ValueError", "Must have dimension semantics for each dimension of the grid."),
        (K.DIMENSION_SEMANTICS, "lower", "ValueError", "Length of grid does not match length of dimension semantics."),
        (K.UNSUPPORTED_PRIMITIVE, "lower", "NotImplementedError", "Unimplemented primitive in Pallas TPU lowering for KernelType.TC: erfc."),
        (K.UNSUPPORTED_PRIMITIVE, "lower", "NotImplementedError", ""),
        (K.BLOCK_SHAPE, "compile", "XlaRuntimeError", "UNIMPLEMENTED: Mosaic failed to compile TPU kernel: Failed to set window params for input 0: Operand of shape (..., 256, 128) has tiling (32, 128), but its block shape (..., 8, 128) is not divisible by tiling evenly"),
        (K.HBM_OOM, "compile", "XlaRuntimeError", "RESOURCE_EXHAUSTED: Allocation (size=42949672960) would exceed memory (size=33822867456) :: #allocation1 [shape = 'f32[10485760,1024]', space=hbm, size = 0xffffffffffffffff, tag = 'output of main.1@{}']"),
        (K.SMEM_OOM, "compile", "JaxRuntimeError", "RESOURCE_EXHAUSTED: Allocation (size=2097152) would exceed memory (size=1048576) :: #allocation3 [shape = 'u8[2097152]{0}', space=smem, size = 0x200000, scoped]"),
        (K.VMEM_OOM, "compile", "JaxRuntimeError", "RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:\nRan out of memory in memory space vmem while allocating on stack"),
        (K.MOSAIC_LAYOUT, "compile", "MosaicError", MOSAIC + "words that nobody has seen yet"),
        (K.OTHER, "trace", "ValueError", "words that nobody has seen yet"),
        (K.OUT_OF_BOUNDS, "numerics", "JaxRuntimeError", 'INTERNAL: CpuCallback error calling callback: Traceback (most recent call last):\n  File "x.py", line 1, in f\nIndexError: Out-of-bounds block index [Array(5)] for input "x" in iteration 4'),
        (K.CRASH, "import", "SystemExit", "3"),
    ],
)  # fmt: skip
def test_known_words(kind: FailureKind, stage: str, exception: str, message: str) -> None:
    assert classify(exception, message, stage=stage) is kind


def frames(*functions: str, code: str = "") -> str:
    own = f'  File "/tmp/candidate.py", line 9, in workload\n{f"    {code}" + chr(10) if code else ""}'
    return own + "".join(f'  File "/v/site-packages/jax/_src/x.py", line 1, in {name}\n' for name in functions)


# The words are the same; who called whom is not.
@pytest.mark.parametrize(
    ("kind", "name", "traceback"),
    [
        (K.INDEX_MAP, "by_row", frames("get_grid_mapping", "to_block_mapping", "call_wrapped")),
        (K.KERNEL_SIGNATURE, "matmul", frames("_trace_kernel_to_jaxpr", "call_wrapped")),
        (K.KERNEL_SIGNATURE, "helper", frames(code="y = helper(x, 1)")),
        (K.API_KEYWORD, "dot", frames(code="y = jnp.dot(x)")),
        (K.API_KEYWORD, "rsqrt", frames("cache_miss")),
        (K.INDEX_MAP, "workload.<locals>.<lambda>", ""),
        (K.KERNEL_SIGNATURE, "workload.<locals>.scale", ""),
        (K.KERNEL_SIGNATURE, "kernel", ""),
        (K.API_KEYWORD, "BlockSpec.__init__", ""),
    ],
)
def test_a_call_that_does_not_fit_is_known_by_its_caller(kind: FailureKind, name: str, traceback: str) -> None:
    message = f"{name}() takes 2 positional arguments but 3 were given"
    assert classify("TypeError", message, stage="trace", traceback=traceback) is kind


def test_a_primitive_in_an_index_map_is_the_index_maps_fault() -> None:
    message = "Unimplemented primitive in Pallas TPU lowering for tc: dynamic_slice. Please file an issue at https://x."
    assert classify("NotImplementedError", message, stage="lower") is K.UNSUPPORTED_PRIMITIVE
    within = frames("lower_jaxpr_to_transform_func", "jaxpr_subcomp")
    assert classify("NotImplementedError", message, stage="lower", traceback=within) is K.INDEX_MAP


def test_an_assertion_without_words_is_known_by_its_frames() -> None:
    assert classify("AssertionError", "", stage="trace", traceback=frames("_pallas_call_jvp_rule")) is K.AUTODIFF
    assert classify("AssertionError", "", stage="trace", traceback=frames("compute_index")) is K.INDEX_MAP


def test_what_a_quoted_operation_names_does_not_decide() -> None:
    message = f'{MOSAIC}unsupported shape cast\n\nThe MLIR operation involved:\n  %1 = "tpu.reshape"(%0) : memref<!tpu.dma_semaphore>'
    assert classify("MosaicError", message, stage="compile") is K.MOSAIC_LAYOUT
    verification = f"{BUG}'tpu.enqueue_dma' op shape\n see current operation: semaphore"
    assert classify("VerificationError", verification, stage="lower") is K.DMA


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("", ""),
        ("\n  Grid must be a tuple\nmore", "Grid must be a tuple"),
        (
            f"{BUG}'tpu.matmul' op Expected matmul acc to be 32-bit\n see current operation: %7",
            "'tpu.matmul' op Expected matmul acc to be 32-bit",
        ),
        (
            f"{MOSAIC}E2003: CompileTimeX: cannot prove\nSee https://openxla.org for more details.",
            "Mosaic failed to compile TPU kernel: E2003: CompileTimeX: cannot prove",
        ),
        (
            "RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:\nRan out of memory in memory space vmem\nmore",
            "RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom: Ran out of memory in memory space vmem",
        ),
        (
            'Unable to parse attribute:\nerror: "#tpu.dimension_semantics<x>":1:26: expected one of: parallel\nerror: b',
            "Unable to parse attribute: expected one of: parallel",
        ),
        (
            'Invalid type:\nerror: "slice"(callsite("kernel"("/a.py":10:17 to :70) at "w"("/a.py":1:1))): vector types bad',
            "Invalid type: vector types bad",
        ),
        (
            "Unimplemented primitive in Pallas TPU lowering for tc: sort. Please file an issue at https://github.com/x.",
            "Unimplemented primitive in Pallas TPU lowering for tc: sort",
        ),
        (
            "For simplicity, JAX has removed its internal frames from the traceback.\n--------------------\nbad shape",
            "bad shape",
        ),
        (
            "INTERNAL: CpuCallback error: Traceback (most recent call last):\n  File x\nValueError: no\n  File y\n"
            "IndexError: Out-of-bounds read of (0 0): reading [2]",
            "IndexError: Out-of-bounds read of (0 0): reading [2]",
        ),
    ],
)
def test_first_line(message: str, line: str) -> None:
    assert first_line(message) == line


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case['jax']}-{case['kind']}")
def test_recorded_messages(case: dict[str, Any]) -> None:
    got = classify(case["type"], case["message"], stage=case["stage"], traceback=case["traceback"])
    assert str(got) == case["kind"]
    assert first_line(case["message"]) or not case["message"]


def test_other_is_rare_among_recorded_messages() -> None:
    kinds = Counter(case["kind"] for case in RECORDED)
    assert kinds["other"] < 0.02 * len(RECORDED)
    assert {case["jax"] for case in RECORDED} == {"0.6.2", "0.7.2", "0.8.3", "0.9.2", "0.10.2"}
