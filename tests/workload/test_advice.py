"""Hints from facts built by hand."""

import subprocess
import sys
from dataclasses import replace

import pytest

from ragctx import targets
from ragctx.workload.advice import WITHOUT_LOWERING, show_bytes, traced_advice
from ragctx.workload.facts import ArrayFact, ArrayUse, LoopFact, ReductionFact, WorkloadFacts

V6E = targets.get("v6e")
BIG = ArrayFact("x", (65536, 2048), "bfloat16", 2**28, False, 32, 128)
FACTS = WorkloadFacts(name="w", traced=True, inputs=(BIG,), bytes=2**28, intensity=1.25, ridge=561.0, bound="memory")


def advice(**changes: object) -> list[str]:
    facts = replace(FACTS, compute_dtype="float32", **changes)  # type: ignore[arg-type]
    return list(traced_advice(facts, V6E, {"x", "table"}))[1:]


def intermediate(name: str, use: ArrayUse) -> ArrayFact:
    return ArrayFact(name, (65536, 4096), "bfloat16", 2**29, False, 32, 128, use=use)


def test_bound() -> None:
    assert list(traced_advice(replace(FACTS, compute_dtype="float32"), V6E, ())) == [
        "1.2 FLOP/byte is below the ridge point of 561 (v6e, bfloat16): memory bound, so fuse all steps, read "
        "each input once and write once."
    ]
    at_ridge = replace(FACTS, compute_dtype="int8", intensity=1200.0, ridge=1122.0, bound="compute")
    assert next(traced_advice(at_ridge, V6E, ())) == (
        "1200 FLOP/byte is above the ridge point of 1122 (v6e, int8): compute bound, so keep the 256 x 256 "
        "matrix units fed with large blocks."
    )


@pytest.mark.parametrize(
    ("name", "use", "ending"),
    [
        (
            "dot_general",
            ArrayUse(through=("exp",), consumers=("reduce_max", "reduce_sum")),
            "stream over it in blocks with an online softmax (running maximum, running sum of each row).",
        ),
        (
            "dot_general",
            ArrayUse(through=("mul",), consumers=("dot_general",)),
            "compute it block by block, multiply each block into the next product at once and accumulate in float32.",
        ),
        (
            "sub",
            ArrayUse(consumers=("reduce_sum",)),
            "reduce each block as it is made (reduce_sum) and keep only the running result.",
        ),
        (
            "gather",
            ArrayUse(consumers=("dot_general",)),
            "copy what the indices name from HBM block by block and multiply it at once, never storing it whole.",
        ),
    ],
)
def test_intermediates_that_do_not_fit(name: str, use: ArrayUse, ending: str) -> None:
    assert advice(intermediates=(intermediate(name, use),)) == [
        f"The {name} result (65536, 4096) takes 536.9 MB in bfloat16 and does not fit the 128 MiB of VMEM: {ending}"
    ]


def test_intermediates_without_a_hint() -> None:
    stored = intermediate("dot_general", ArrayUse(consumers=("reduce_sum",), stored=True))
    sorted_ = intermediate("dot_general", ArrayUse(consumers=("sort",)))
    fused = replace(BIG, name="mul", use=ArrayUse(consumers=("reduce_sum",)))
    assert advice(intermediates=(stored, sorted_, fused)) == []


def test_what_fits_at_once() -> None:
    small = ArrayFact("x", (128, 128), "float32", 65536, True, 32, 128)
    assert advice(inputs=(small,), bytes=65536) == [
        "Inputs, outputs and the largest intermediates take 65.5 kB and fit the 128 MiB of VMEM together: XLA "
        "may fuse it well without a kernel."
    ]
    huge = replace(BIG, bytes=2**36)
    assert advice(inputs=(huge,), bytes=2**36) == [
        "Inputs and outputs take 68.7 GB, more than the 34.4 GB of HBM of one v6e core."
    ]


def test_reductions() -> None:
    rows = ReductionFact("reduce_sum", (65536, 2048), (1,), True)
    assert advice(reductions=(rows, replace(rows, primitive="reduce_max"), replace(rows, reused=False))) == [
        "An array (65536, 2048) is reduced over axis 1 (reduce_sum, reduce_max) and used again with the "
        "result: one slice (2048,) takes 8.2 kB in float32, so keep slices whole in a block and reduce and "
        "finish them in one pass."
    ]
    assert advice(reductions=(replace(rows, axes=(0, 1)),)) == [
        "An array (65536, 2048) is reduced over axes 0, 1 (reduce_sum) and used again with the result: one slice "
        "(65536, 2048) takes 536.9 MB in float32, so it needs two passes, or running statistics."
    ]


def test_loops() -> None:
    state = LoopFact("scan", 64, 1, False, 0.5)
    assert advice(loops=(state, replace(state, flops_share=0.05))) == [
        'The scan of 64 trips carries state and takes 50% of the FLOPs: in a kernel it is an "arbitrary" grid '
        "dimension with the state in VMEM scratch."
    ]
    assert advice(loops=(LoopFact("while", None, 1, True),)) == [
        "The while of an unknown number of trips only collects results: its iterations are independent, so use "
        "jax.vmap or a grid dimension instead of a loop that carries them."
    ]


def test_tiles_and_indices() -> None:
    odd = ArrayFact("y", (4, 100, 126), "bfloat16", 4 * 100 * 126 * 2, True, 1, 2)
    rows = ArrayFact("z", (24, 128), "int8", 24 * 128, True, 8, 128)
    table = ArrayFact("table", (1024,), "int32", 4096, True, 1, 128)
    assert advice(inputs=(BIG, odd, rows, table)) == [
        "The values of table decide on addresses or sizes: hand them over by scalar prefetch "
        "(pltpu.PrefetchScalarGridSpec), so that index maps and the kernel can read them.",
        "The last dimension of y is 126, not a multiple of 128: a block spans it whole, or is a multiple of "
        "128 with its overhang masked.",
        "The second-to-last dimension of z is 24, not a multiple of its type's tile of 32 rows: a block spans "
        "it whole, or is a multiple of 32 with its overhang masked.",
    ]


def test_primitives_and_counts() -> None:
    assert advice(primitives={"sort": 1}, uncounted=("sort", "while")) == [
        "sort has no lowering inside a Pallas TPU kernel: sort outside the kernel.",
        "The FLOPs leave out sort.",
        "The FLOPs count the body of a while loop once, as its trips are unknown.",
    ]


@pytest.mark.parametrize(
    ("count", "text"),
    [(512, "512 B"), (999, "999 B"), (1000, "1.0 kB"), (67108864, "67.1 MB"), (17179869184, "17.2 GB")],
)
def test_bytes_for_people(count: int, text: str) -> None:
    assert show_bytes(count) == text


@pytest.mark.slow
def test_primitives_without_lowering_on_the_installed_jax() -> None:
    code = (
        "from jax._src.pallas.mosaic import lowering\n"
        "names = {str(p) for rules in lowering.lowering_rules.values() for p in rules}\n"
        f"print(sorted(names & set({sorted(WITHOUT_LOWERING)!r})), 'dot_general' in names)"
    )
    environment = {"JAX_PLATFORMS": "cpu", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "[] True\n"
