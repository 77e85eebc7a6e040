from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from ragctx.context import ContextBuilder
from ragctx.index import Index
from ragctx.workload import WorkloadFacts, facts_for

WORKLOADS = (
    "12p_RMSNorm",
    "16p_Mamba2_SSD",
    "1p_Flash_Attention",
    "22k_Conv2d_InstanceNorm_Divide",
    "6p_Paged_Attention",
    "8p_GEMM",
)


@pytest.fixture(scope="session")
def brine_builder(brine_index: Index) -> ContextBuilder:
    return ContextBuilder(brine_index)


@pytest.fixture(scope="session")
def shipped(shipped_index: Index) -> ContextBuilder:
    """A builder over the shipped corpus and the installed JAX."""
    return ContextBuilder(shipped_index)


@pytest.fixture(scope="session")
def facts_of(checkout: Path) -> Callable[[str, bool], WorkloadFacts]:
    """Facts of a shipped workload, traced or read as text, each derived once."""

    @functools.cache
    def derive(name: str, traced: bool) -> WorkloadFacts:
        return facts_for(checkout / "evaluation" / "workloads" / f"{name}.py", trace=traced)

    return derive
