from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragctx.index import Index


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the command left: exit status (negative for a signal) and both streams."""

    status: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line of an error, which is all there is."""
        assert self.out == ""
        assert self.err.endswith("\n") and self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        return self.err.removesuffix("\n").removeprefix("ragctx: ")


@dataclass(slots=True)
class Command:
    """The real command in a process of its own, in a folder and with an environment of its own."""

    folder: Path
    environment: dict[str, str]

    def words(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "ragctx", *map(str, arguments)]

    def start(self, *arguments: str | Path, **options: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
            self.words(*arguments), cwd=self.folder, env=self.environment, **options
        )

    def __call__(self, *arguments: str | Path, stdin: bytes | str = b"", **variables: str) -> Outcome:
        done = subprocess.run(
            self.words(*arguments),
            cwd=self.folder,
            env={**self.environment, **variables},
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def shell(self, line: str, **variables: str) -> Outcome:
        """Run a line of sh in which `ragctx` is the command."""
        script = f'ragctx() {{ "{sys.executable}" -m ragctx "$@"; }}\n{line}\n'
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=self.folder,
            env={**self.environment, **variables},
            capture_output=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        return Outcome(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


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
