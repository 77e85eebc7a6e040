from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ragctx.corpus import Document, Kind, Renamed
from ragctx.index import Index, SynonymGroup, build_index, open_index

DOCUMENTS = (
    Document(
        "api/pl.BlockSpec",
        Kind.API,
        "pl.BlockSpec",
        "# pl.BlockSpec\n\nSays which block of an array a program of the grid sees.\n",
        symbols=("pl.BlockSpec",),
        related=("rule/block-shape",),
        requires={"jax": ">=0.7"},
        was=(Renamed("pl.Blocked", "0.5"), Renamed("pl.Old")),
    ),
    Document(
        "rule/block-shape",
        Kind.RULE,
        "The last two dimensions of a block",
        "# The last two dimensions of a block\n\nDivisible by 8 and 128: (8, 128) for f32. `pl.BlockSpec` says so.\n",
        triggers=("divisible by 8 and 128",),
        always=True,
    ),
    Document(
        "example/matmul",
        Kind.EXAMPLE,
        "Matrix product",
        "def kernel(x_ref, y_ref, o_ref):\n    o_ref[...] = x_ref[...] @ y_ref[...]\n",
        language="python",
        tags=("matmul", "gemm"),
        primitives=("dot_general",),
    ),
    Document("hardware/v6e", Kind.HARDWARE, "TPU v6e", "# TPU v6e\n\n행렬곱 유닛은 256 x 256.\n", targets=("v6e",)),
)
SYNONYMS = (SynonymGroup("product", ("matmul", "matrix multiplication"), ("dot_general",)),)


@pytest.fixture(scope="session")
def documents() -> tuple[Document, ...]:
    return DOCUMENTS


@pytest.fixture(scope="session")
def synonym_groups() -> tuple[SynonymGroup, ...]:
    return SYNONYMS


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index of four documents that tests only read."""
    return build_index(
        DOCUMENTS, tmp_path_factory.mktemp("small"), synonyms=SYNONYMS, manifest_extra={"corpus": {"own": "abc"}}
    )


@pytest.fixture
def copied(small: Index, tmp_path: Path) -> Index:
    """A copy of the index that a test may damage."""
    shutil.copytree(small.path.parent, tmp_path / "copied")
    return open_index(tmp_path / "copied")


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Index]:
    """Builds the four documents, or others, into `tmp_path / "out"`."""

    def run(documents: tuple[Document, ...] = DOCUMENTS) -> Index:
        return build_index(documents, tmp_path / "out", synonyms=SYNONYMS)

    return run
