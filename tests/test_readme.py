"""What the README shows is run: its Python blocks, its shell commands and its figures."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"


@pytest.fixture(scope="module")
def readme() -> str:
    return README.read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the in-house pages as its docs and the files that the commands name."""
    root = README.parent
    shutil.copytree(root / "evaluation" / "retrieval" / "sets" / "lineup" / "docs", tmp_path / "docs")
    (tmp_path / "prompt.txt").write_text("Cancel a spot and say why\n", encoding="utf-8")
    (tmp_path / "kernel.py").write_text((root / "evaluation" / "workloads" / "12p_RMSNorm.py").read_text())
    (tmp_path / "evaluation").symlink_to(root / "evaluation")
    (tmp_path / "my-agent").write_text(
        "#!/bin/sh\ncat >> received.txt\n[ $# -eq 0 ] || printf '%s' \"$2\" > argument.txt\n"
    )
    (tmp_path / "my-agent").chmod(0o755)
    return tmp_path


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{folder}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, shell=True, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )


def commands(readme: str) -> list[str]:
    lines = re.findall(r"^    (ragctx .*)$", readme, re.MULTILINE)
    shown = [re.sub(r"\s{2,}#.*", "", line).strip() for line in lines]
    # Judging a kernel is the trade of tests/verify; CANDIDATE.py stands for one.
    return [command for command in shown if "CANDIDATE.py" not in command]


def test_readme_shows_commands(readme: str) -> None:
    assert len(commands(readme)) == 10


@pytest.mark.slow
def test_every_command_works(readme: str, project: Path) -> None:
    for command in commands(readme):
        done = run(command, project)
        assert done.returncode == 0, (command, done.stderr)
        if "my-agent" not in command and "ragctx check" not in command:
            assert done.stdout.strip(), command
    assert "<document id=" in (project / "received.txt").read_text()
    assert "# Writing JAX Pallas kernels" in (project / "argument.txt").read_text()


@pytest.mark.slow
def test_python_blocks_run(readme: str, project: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    done = subprocess.run([sys.executable, "-c", blocks[0]], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert "cancel_spot" in first
    assert re.fullmatch(r"\(the model's answer to \d{4,} characters\)", second)


def test_project_file_is_valid(readme: str, tmp_path: Path) -> None:
    from ragctx.cli.config import Settings, load

    block = re.search(r"((?:^    \w+ = .*\n)+)", readme, re.MULTILINE)
    assert block is not None
    (tmp_path / "ragctx.toml").write_text(re.sub(r"^    ", "", block[1], flags=re.MULTILINE))
    settings = load(Settings(), environment={}, folder=tmp_path, user=tmp_path / "none.toml")
    assert (settings.corpus, settings.modules, settings.budget) == ((str(tmp_path / "docs"),), ("acme.kernels",), 8000)


def test_figures_are_the_committed_ones(readme: str) -> None:
    results = json.loads((README.parent / "evaluation" / "results" / "in-house.json").read_text())
    rows = re.findall(
        r"^\| (\w+) \| ([\d.]+) % \((\d+) of 40\) \| ([\d.]+) % \((\d+) of 40\) \|$", readme, re.MULTILINE
    )
    assert [row[0] for row in rows] == ["lineup", "meterline", "rindhall", "crewdeck", "rigwright"]
    for name, plain, plain_complete, found, complete in rows:
        at_8000 = {m: next(s for s in scores if s["budget"] == 8000) for m, scores in results[name].items()}
        assert (f"{at_8000['plain BM25']['found']:.1%}", at_8000["plain BM25"]["complete"]) == (
            f"{plain}%",
            int(plain_complete),
        )
        assert (f"{at_8000['ragctx']['found']:.1%}", at_8000["ragctx"]["complete"]) == (f"{found}%", int(complete))


def test_links_lead_somewhere(readme: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", readme):
        assert (README.parent / target).exists(), target
