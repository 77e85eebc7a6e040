from typing import Any

import pytest

from ragctx.children import run_script

ALIASES = {"pl": "jax.experimental.pallas", "pltpu": "jax.experimental.pallas.tpu"}

NAMES = {
    "pl.BlockSpec": None,
    "pltpu.MemorySpace.VMEM": None,
    "jax.lax.dot_general": None,
    "jax.experimental.pallas.cdiv": None,
    "pl.Unblocked": "Unblocked",
    "pltpu.MemorySpace.NOPE": "NOPE",
    "pltpu.semaphore_signal": "DeprecationWarning",
}
SIGNATURES = {
    "pl.ds(start, size=None, stride=None)": None,
    "pl.GridSpec(grid=(), in_specs=pl.no_block_spec, out_specs=pl.no_block_spec, scratch_shapes=())": None,
    "pltpu.force_tpu_interpret_mode(params=pltpu.InterpretParams())": None,
    "pltpu.SemaphoreType.DMA(shape)": None,
    "pl.when(condition, /)": None,
    "pl.when(condition)": "the parameters are condition",
    "pl.ds(start, stride=None, size=None)": "the parameters are start, size, stride",
    "pl.ds(start, size, stride=None)": "size: the default is None",
    "pl.Slice(start, size, stride=2)": "stride: the default is 1",
    "pl.Slice(start, size, stride=True)": "stride: the default is 1",
    "pl.ds(start=0, size=None, stride=None)": "start has no default",
    "pl.ds(start, size=..., stride=None)": "size: the default is None",
    "pl.Slice(start, size, stride=": "SyntaxError",
    "pl.gone(x)": "AttributeError",
}
PRIMITIVES = {"dot_general": True, "scatter-add": True, "dma_start": True, "matmul": False}


@pytest.fixture(scope="module")
def answer() -> Any:
    request = {"aliases": ALIASES, "names": [*NAMES], "signatures": [*SIGNATURES], "primitives": [*PRIMITIVES]}
    result = run_script("names.py", {**request, "members": ["pltpu.SemaphoreType"]})
    assert result.status == 0, result.stderr
    return result.answer


@pytest.mark.parametrize(("name", "why"), NAMES.items())
def test_names(answer: Any, name: str, why: str | None) -> None:
    said = answer["names"][name]
    assert said is None if why is None else why in said


@pytest.mark.parametrize(("signature", "why"), SIGNATURES.items())
def test_signatures(answer: Any, signature: str, why: str | None) -> None:
    said = answer["signatures"][signature]
    assert said is None if why is None else said.startswith(why)


def test_primitives_and_members(answer: Any) -> None:
    assert answer["primitives"] == PRIMITIVES
    assert answer["members"] == {"pltpu.SemaphoreType": ["REGULAR", "DMA", "BARRIER"]}
