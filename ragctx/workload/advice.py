"""Hints derived from a workload's facts, one sentence each; each states what it was derived from."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping

from ragctx.targets import MIB, Target
from ragctx.workload.facts import ArrayFact, ArrayUse, ReductionFact, WorkloadFacts

# Primitives that Pallas cannot lower for the TPU's TensorCore (JAX 0.10.2; a test asks the installed JAX), and what
# does the same.
WITHOUT_LOWERING: Mapping[str, str] = {
    "conv_general_dilated": "write it as a sum of matmuls, one a kernel position, over shifted slices of the input",
    "cumsum": "write it as a matmul with a triangular matrix of ones a block, and carry the total from block to block",
    "sort": "sort outside the kernel",
    "top_k": "select outside the kernel, or take a maximum and mask it k times",
}
_MATMULS = ("dot_general", "conv_general_dilated", "ragged_dot_general")
_MAKERS = (*_MATMULS, "gather", "cumsum")
_NARROW = ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2")
_STATEFUL_SHARE = 0.1


def traced_advice(facts: WorkloadFacts, target: Target, deciding: Collection[str]) -> Iterator[str]:
    """Yield the hints for a traced workload.

    Args:
        facts: Its facts.
        target: The target they are of.
        deciding: Names of inputs whose values decide on addresses, sizes or masks.
    """
    yield from _mesh_advice(facts)
    yield from _bound_advice(facts, target)
    yield from _fit_advice(facts, target)
    streamed: set[tuple[int, ...]] = set()
    largest_input = max((math.prod(array.shape) for array in facts.inputs), default=0)
    for array in facts.intermediates:
        # Element-wise results no larger than an input are fused into what reads them.
        heavy = array.name in _MAKERS or math.prod(array.shape) > largest_input
        sentence = _stream_advice(array, target) if heavy and array.shape not in streamed else None
        if sentence:
            streamed.add(array.shape)
            yield sentence
    yield from _reduction_advice(facts.reductions, target, streamed)
    yield from _loop_advice(facts)
    yield from _index_advice(facts, deciding)
    yield from _tile_advice(facts, target)
    yield from _primitive_advice(facts)
    yield from check_advice(facts.check)


def check_advice(check: Mapping[str, object]) -> Iterator[str]:
    """Yield the hint that sizes vary, if the workload has CHECK sizes."""
    if check:
        yield (
            "Numerics are checked at the smaller CHECK sizes: derive grid and blocks from the arguments' shapes, "
            "not from CONFIG."
        )


def show_bytes(count: int) -> str:
    """Return a number of bytes for people: 512 B, 32.8 kB, 67.1 MB, 17.2 GB (powers of 1000)."""
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 999.5:
            break
        size, unit = size / 1000, larger
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def _shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _mesh_advice(facts: WorkloadFacts) -> Iterator[str]:
    if facts.mesh:
        axes = ", ".join(f"{name} = {count}" for name, count in facts.mesh.items())
        talk = f"; it communicates by {', '.join(facts.collectives)}" if facts.collectives else ""
        yield f"It runs on a mesh with {axes}: shapes, FLOPs and bytes are one device's share{talk}."


def _bound_advice(facts: WorkloadFacts, target: Target) -> Iterator[str]:
    if facts.intensity is None or facts.ridge is None:
        return
    dtype = facts.compute_dtype if facts.compute_dtype in target.peak_ops_per_s else "bfloat16"
    shown = f"{facts.intensity:.0f}" if facts.intensity >= 10 else f"{facts.intensity:.2g}"
    compared = f"{shown} FLOP/byte is {{}} the ridge point of {facts.ridge:.0f} ({target.name}, {dtype}): "
    if facts.bound == "memory":
        yield compared.format("below") + "memory bound, so fuse all steps, read each input once and write once."
    else:
        yield compared.format("above") + (
            f"compute bound, so keep the {target.mxu_size} x {target.mxu_size} matrix units fed with large blocks."
        )


def _fit_advice(facts: WorkloadFacts, target: Target) -> Iterator[str]:
    arrays = (*facts.inputs, *facts.outputs)
    whole = sum(array.bytes for array in (*arrays, *facts.intermediates))
    if whole <= target.vmem_bytes:
        yield (
            f"Inputs, outputs and the largest intermediates take {show_bytes(whole)} and fit the "
            f"{target.vmem_bytes // MIB} MiB of VMEM together: XLA may fuse it well without a kernel."
        )
    elif facts.bytes is not None and facts.bytes > target.hbm_bytes:
        yield (
            f"Inputs and outputs take {show_bytes(facts.bytes)}, more than the {show_bytes(int(target.hbm_bytes))} "
            f"of HBM of one {target.name} core."
        )


def _stream_advice(array: ArrayFact, target: Target) -> str | None:
    """Return how to avoid storing an intermediate that does not fit VMEM, or None."""
    use = array.use
    if array.fits_vmem or use is None or use.stored:
        return None
    how = _how_to_stream(array.name, use)
    if how is None:
        return None
    return (
        f"The {array.name} result {_shape(array.shape)} takes {show_bytes(array.bytes)} in {array.dtype} and does not "
        f"fit the {target.vmem_bytes // MIB} MiB of VMEM{_slice_note(array, use, target)}: {how}."
    )


def _how_to_stream(maker: str, use: ArrayUse) -> str | None:
    consumers = set(use.consumers)
    reduced = {name for name in consumers if name.startswith("reduce_")}
    multiplied = consumers & set(_MATMULS)
    if maker == "gather" and multiplied:
        return "copy what the indices name from HBM block by block and multiply it at once, never storing it whole"
    if {"reduce_max", "reduce_sum"} <= reduced and "exp" in use.through:
        rest = "and the accumulated product" if multiplied else "of each row"
        return f"stream over it in blocks with an online softmax (running maximum, running sum {rest})"
    if multiplied and not reduced:
        return "compute it block by block, multiply each block into the next product at once and accumulate in float32"
    if reduced and consumers == reduced:
        return f"reduce each block as it is made ({', '.join(sorted(reduced))}) and keep only the running result"
    return None


def _slice_note(array: ArrayFact, use: ArrayUse, target: Target) -> str:
    batch = array.shape[: use.batch_rank]
    if math.prod(batch) <= 1:
        return ""
    one = array.bytes // math.prod(batch)
    fits = "fits" if one <= target.vmem_bytes else "does not"
    slice_shape = _shape(array.shape[use.batch_rank :])
    return f" (one slice over its batch dimensions, {slice_shape}, takes {show_bytes(one)}: {fits})"


def _reduction_advice(
    reductions: tuple[ReductionFact, ...], target: Target, streamed: set[tuple[int, ...]]
) -> Iterator[str]:
    groups: dict[tuple[tuple[int, ...], tuple[int, ...]], list[str]] = {}
    for item in reductions:
        if item.reused and item.shape not in streamed:
            groups.setdefault((item.shape, item.axes), []).append(item.primitive)
    for (shape, axes), primitives in groups.items():
        reduced = tuple(shape[axis] for axis in axes)
        size = 4 * math.prod(reduced)
        fits = size <= (target.scoped_vmem_bytes or target.vmem_bytes)
        how = (
            "keep slices whole in a block and reduce and finish them in one pass"
            if fits
            else "it needs two passes, or running statistics"
        )
        named = f"axis {axes[0]}" if len(axes) == 1 else f"axes {', '.join(map(str, axes))}"
        yield (
            f"An array {_shape(shape)} is reduced over {named} ({', '.join(primitives)}) and used again with the "
            f"result: one slice {_shape(reduced)} takes {show_bytes(size)} in float32, so {how}."
        )


def _loop_advice(facts: WorkloadFacts) -> Iterator[str]:
    for loop in facts.loops:
        trips = f"{loop.trips} trips" if loop.trips is not None else "an unknown number of trips"
        if loop.independent:
            yield (
                f"The {loop.primitive} of {trips} only collects results: its iterations are independent, so use "
                "jax.vmap or a grid dimension instead of a loop that carries them."
            )
        elif loop.flops_share >= _STATEFUL_SHARE and loop.carries:
            yield (
                f"The {loop.primitive} of {trips} carries state and takes {loop.flops_share:.0%} of the FLOPs: in a "
                'kernel it is an "arbitrary" grid dimension with the state in VMEM scratch.'
            )


def _index_advice(facts: WorkloadFacts, deciding: Collection[str]) -> Iterator[str]:
    indices = [array.name for array in facts.inputs if array.name in deciding and "int" in array.dtype]
    if indices:
        yield (
            f"The values of {', '.join(indices)} decide on addresses or sizes: hand them over by scalar prefetch "
            "(pltpu.PrefetchScalarGridSpec), so that index maps and the kernel can read them."
        )


def _tile_advice(facts: WorkloadFacts, target: Target) -> Iterator[str]:
    lanes: dict[int, list[str]] = {}
    rows: dict[tuple[int, int], list[str]] = {}
    for array in (*facts.inputs, *facts.outputs):
        if len(array.shape) < 2 or not all(array.shape):
            continue
        if array.lane_multiple < 128:
            lanes.setdefault(array.shape[-1], []).append(array.name)
            continue
        tile = target.sublane_tiling.get(array.bytes // math.prod(array.shape))
        if tile is not None and array.shape[-2] % tile:
            rows.setdefault((array.shape[-2], tile), []).append(array.name)
    for size, names in lanes.items():
        yield (
            f"The last dimension of {', '.join(names)} is {size}, not a multiple of 128: a block spans it whole, or is "
            "a multiple of 128 with its overhang masked."
        )
    for (size, tile), names in rows.items():
        yield (
            f"The second-to-last dimension of {', '.join(names)} is {size}, not a multiple of its type's tile of "
            f"{tile} rows: a block spans it whole, or is a multiple of {tile} with its overhang masked."
        )


def _primitive_advice(facts: WorkloadFacts) -> Iterator[str]:
    if facts.compute_dtype in _NARROW and facts.matmul_flops:
        yield (
            f"Matmul operands are {facts.compute_dtype}: accumulate in float32 (preferred_element_type) and round once "
            "at the end."
        )
    for primitive, instead in WITHOUT_LOWERING.items():
        if primitive in facts.primitives:
            yield f"{primitive} has no lowering inside a Pallas TPU kernel: {instead}."
    if left_out := [name for name in facts.uncounted if name != "while"]:
        yield f"The FLOPs leave out {', '.join(left_out)}."
    if "while" in facts.uncounted:
        yield "The FLOPs count the body of a while loop once, as its trips are unknown."
