"""The wheel carries its data: built, installed outside the checkout, and asked for a prefix."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    # hatchling is installed with the dev extra, so that building needs no environment of its own.
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (built,) = out.glob("*.whl")
    return built


@pytest.mark.slow
def test_wheel_holds_data_and_no_results(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "ragctx/py.typed",
        "ragctx/_data/corpus/hardware/v6e.md",
        "ragctx/_data/corpus/examples/matmul.py",
        "ragctx/_data/corpus/synonyms.yaml",
        "ragctx/_data/templates/role.md.j2",
        "ragctx/_data/evaluation/workloads/8p_GEMM.py",
    ):
        assert wanted in names
    assert not [name for name in names if "results" in name or "__pycache__" in name or name.startswith("tests")]


@pytest.mark.slow
def test_installed_wheel_builds_a_prefix_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Dependencies come from this environment (they are gigabytes); ragctx itself only from the wheel."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    site = next((tmp_path / "venv" / "lib").glob("python*")) / "site-packages"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(site), str(wheel)],
        check=True,
        capture_output=True,
    )
    shared = [p for p in sys.path if p.endswith("site-packages")]
    # Plain path lines only: an editable install of the checkout works through an import hook that these do not start.
    (site / "shared.pth").write_text("\n".join(shared) + "\n")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    where = subprocess.run(
        [python, "-c", "import ragctx; print(ragctx.__file__)"],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert where.stdout.startswith(str(site))
    script = "from ragctx.cli import main; import sys; sys.argv = ['ragctx', *sys.argv[1:]]; main()"
    workload = site / "ragctx" / "_data" / "evaluation" / "workloads" / "12p_RMSNorm.py"
    done = subprocess.run(
        [python, "-c", script, "context", str(workload)],
        cwd=tmp_path,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("# Writing JAX Pallas kernels for Google TPU v6e\n")
    assert '<document id="example/rms_norm">' in done.stdout
    assert "## The workload: 12p_RMSNorm" in done.stdout
