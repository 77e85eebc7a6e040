"""Fixtures of the tests that attack the sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from boxes import TOKEN, Box, alive_with, make_box

from ragctx.verify.isolation import IsolationKind
from ragctx.verify.run_folder import run_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    with run_folder() as path:
        yield path


@pytest.fixture(params=list(IsolationKind), ids=str)
def box(request: pytest.FixtureRequest, folder: Path) -> Iterator[Box]:
    if sys.platform != "linux":
        pytest.skip("the sandbox needs Linux")
    yield make_box(request.param, folder)
    assert alive_with(TOKEN) == []


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that is not the run's, which everybody on the machine may enter and write in."""
    with tempfile.TemporaryDirectory(prefix="ragctx-elsewhere-") as path:
        os.chmod(path, 0o777)
        yield Path(path)


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the user's, with a key in its environment."""
    process = subprocess.Popen(["sleep", "120"], env={"API_KEY": "sk-planted-key", "PATH": os.environ["PATH"]})
    yield process
    process.kill()
    process.wait()
