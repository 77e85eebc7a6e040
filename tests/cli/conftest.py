from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli_command import Command

from ragctx.index import Index


@pytest.fixture
def ragctx(tmp_path: Path, checkout: Path) -> Command:
    """The command in an empty folder, with an empty home and cache."""
    home = tmp_path / "home"
    folder = tmp_path / "work"
    home.mkdir()
    folder.mkdir()
    return Command(
        folder,
        {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "TMPDIR": str(tmp_path),
            "PYTHONPATH": str(checkout),
            "LC_ALL": "C.UTF-8",
        },
    )


@pytest.fixture
def shipped(ragctx: Command, shipped_cache: Path) -> Command:
    """The same with the index of the shipped corpus already in the cache."""
    ragctx.environment["RAGCTX_CACHE"] = str(shipped_cache)
    return ragctx


@pytest.fixture
def small(ragctx: Command, brine_index: Index) -> Command:
    """The same with a named index, that of the small documentation in tests/data/brine."""
    ragctx.environment["RAGCTX_INDEX"] = str(brine_index.path.parent)
    return ragctx


@pytest.fixture
def gemm(checkout: Path) -> Path:
    return checkout / "evaluation" / "workloads" / "8p_GEMM.py"
