from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from ragctx.errors import RagctxError
from ragctx.index.digests import FileDigests
from ragctx.index.environment import Environment, read_environment


def install(site: Path, name: str, version: str, *, editable: bool = False) -> None:
    """Lay down what an installer would: a package and its metadata."""
    package = site / name
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(f"# {version}\n")
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if editable:
        (info / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {"editable": true}}')


@pytest.fixture
def digests(tmp_path: Path) -> FileDigests:
    return FileDigests(tmp_path / "files.json")


def test_ones_own_environment_imports_nothing() -> None:
    code = """
import sys
from pathlib import Path
from ragctx.index.digests import FileDigests
from ragctx.index.environment import read_environment
there = read_environment(None)
assert there.version("jax") and there.package_state("jax", FileDigests(Path("x"))) == f"version {there.version('jax')}"
assert "jax" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_installed_package_is_told_by_its_version(tmp_path: Path, digests: FileDigests) -> None:
    install(tmp_path / "site", "acme", "2.1")
    there = Environment("3.11", (str(tmp_path / "site"),))
    assert there.version("acme") == "2.1"
    assert there.version("missing") is None
    assert there.package_state("acme", digests) == "version 2.1"
    assert there.package_state("missing", digests) == "missing"


def test_a_package_edited_in_place_is_told_by_its_sources(tmp_path: Path, digests: FileDigests) -> None:
    site = tmp_path / "site"
    install(site, "acme", "2.1", editable=True)
    there = Environment("3.11", (str(site),))
    first = there.package_state("acme", digests)
    assert first.startswith("sources ")
    (site / "acme" / "__pycache__").mkdir()
    (site / "acme" / "__pycache__" / "x.py").write_text("no source")
    assert there.package_state("acme", digests) == first
    (site / "acme" / "new.py").write_text("x = 1\n")
    assert there.package_state("acme", digests) != first


def test_a_package_without_a_distribution_is_told_by_its_sources(tmp_path: Path, digests: FileDigests) -> None:
    (tmp_path / "one.py").write_text("x = 1\n")
    there = Environment("3.11", (str(tmp_path),))
    first = there.package_state("one", digests)
    assert first.startswith("sources ")
    (tmp_path / "one.py").write_text("x = 22\n")
    assert there.package_state("one", digests) != first


def test_another_interpreter_is_asked(tmp_path: Path) -> None:
    there = read_environment(sys.executable)
    assert there.python == platform.python_version()
    assert there.version("jax") == read_environment(None).version("jax")


def test_a_virtual_environment_has_its_own_packages(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    site = next((tmp_path / "venv" / "lib").glob("python*")) / "site-packages"
    install(site, "acme", "7.0")
    there = read_environment(str(python))
    assert there.version("acme") == "7.0"
    assert there.version("jax") is None


@pytest.mark.parametrize("python", ["/nonexistent/python", "/bin/false"])
def test_an_interpreter_that_cannot_be_run_is_an_error(python: str) -> None:
    with pytest.raises(RagctxError) as caught:
        read_environment(python)
    assert str(caught.value).startswith(f"{python}: ")
    assert caught.value.remedy
