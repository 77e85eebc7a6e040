"""What an expert would put before each of the six workloads, at the default budget; traced, and read as text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ragctx.context import ContextBuilder
from ragctx.workload import WorkloadFacts

# Every kernel: how it is called, how its arrays are cut into blocks, how it is tuned, what chip it is for.
EVERY = {"api/pl.pallas_call", "api/pl.BlockSpec", "api/pltpu.CompilerParams", "api/pltpu.VMEM", "hardware/v6e"}

EXPECTED = {
    # A running maximum and sum over blocks of keys, accumulated in float32 between two matmuls.
    "1p_Flash_Attention": {
        "example/flash_attention",
        "api/jax.lax.dot_general",
        "api/jax.lax.broadcasted_iota",
        "api/pl.when",
        "rule/dot-accumulator",
        "rule/zero-the-accumulator",
    },
    # The same, over pages found through a table of indices that is known before the kernel starts.
    "6p_Paged_Attention": {
        "example/flash_attention",
        "example/prefetch_gather",
        "api/pltpu.PrefetchScalarGridSpec",
        "api/jax.lax.dot_general",
        "api/pl.program_id",
        "api/pl.when",
        "rule/dot-accumulator",
    },
    # Blocks large enough for the ridge point, an accumulator over the last grid axis.
    "8p_GEMM": {
        "example/matmul",
        "api/jax.lax.dot_general",
        "api/pl.program_id",
        "rule/dot-accumulator",
        "rule/blocks-for-the-ridge",
        "rule/zero-the-accumulator",
    },
    # One pass over rows, a reduction in float32, stored as bfloat16.
    "12p_RMSNorm": {"example/rms_norm", "example/grid_reduction", "rule/store-dtype"},
    # A causal, decayed attention: matmuls, masks, a running sum that Pallas does not lower.
    "16p_Mamba2_SSD": {
        "example/flash_attention",
        "example/batched_matmul",
        "api/jax.lax.dot_general",
        "api/jax.lax.broadcasted_iota",
        "api/pl.program_id",
        "rule/dot-accumulator",
        "rule/primitive-without-lowering",
    },
    # Shifted matmuls (Pallas lowers no convolution), then a norm over what they gave.
    "22k_Conv2d_InstanceNorm_Divide": {
        "example/rms_norm",
        "example/grid_reduction",
        "api/jax.lax.dot_general",
        "rule/primitive-without-lowering",
        "rule/dot-accumulator",
        "rule/keep-lanes-full",
    },
}
FIRST_EXAMPLE = {
    "1p_Flash_Attention": "example/flash_attention",
    "6p_Paged_Attention": "example/flash_attention",
    "8p_GEMM": "example/matmul",
    "12p_RMSNorm": "example/rms_norm",
    "16p_Mamba2_SSD": "example/flash_attention",
    "22k_Conv2d_InstanceNorm_Divide": "example/rms_norm",
}


@pytest.mark.parametrize("traced", [True, False], ids=["traced", "text"])
@pytest.mark.parametrize("name", EXPECTED)
def test_the_documents_an_expert_would_want(
    shipped: ContextBuilder, facts_of: Callable[[str, bool], WorkloadFacts], name: str, traced: bool
) -> None:
    facts = facts_of(name, traced)
    assert facts.traced is traced
    context = shipped.prefix(facts)
    found = [entry["document"] for entry in context.manifest["chunks"]]
    assert (EVERY | EXPECTED[name]) - set(found) == set()
    assert next(document for document in found if document.startswith("example/")) == FIRST_EXAMPLE[name]
    always = [entry["document"] for entry in context.manifest["chunks"] if entry["reason"] == "always"]
    assert len(always) == len(set(always)) == 5
    assert 7800 <= context.tokens <= 8000
    assert context.manifest["dropped"] == []


@pytest.mark.parametrize("name", EXPECTED)
def test_the_facts_of_a_traced_workload_stand_at_the_end(
    shipped: ContextBuilder, facts_of: Callable[[str, bool], WorkloadFacts], name: str
) -> None:
    facts = facts_of(name, True)
    text = shipped.prefix(facts).text.partition(f"## The workload: {name}\n")[2]
    for array in (*facts.inputs, *facts.outputs):
        assert f"| {array.name} | {array.shape} | {array.dtype} |" in text
    assert "derive grid and blocks from the\nshapes of the arguments" in text
    assert f"{facts.bound} bound" in text
    assert all(f"- {sentence}\n" in text for sentence in facts.advice)
