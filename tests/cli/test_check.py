from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from ragctx.cli.main import run

GOOD = "import jax\n\n\ndef workload(x):\n    return jax.numpy.tanh(x)\n"
BAD = "from jax.experimental.pallas import tpu as pltpu\n\n\ndef workload(x):\n    return pltpu.ANY\n"
NOTE = "from jax.experimental.pallas import tpu as pltpu\n\nA = pltpu.ANY if hasattr(pltpu, 'ANY') else None\n"
BAD_LINE = "{}:5:12: api_name: pltpu.ANY is gone since jax 0.10.0; use pl.ANY\n"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _shared_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGCTX_CACHE", str(cache))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("good.py", GOOD), ("bad.py", BAD), ("note.py", NOTE)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_nothing_found_prints_nothing(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(files / "good.py")]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_finding_is_a_line_and_status_3(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(files / "bad.py")]) == 3
    assert capsys.readouterr() == (BAD_LINE.format(files / "bad.py"), "")


def test_a_note_does_not_fail(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(files / "note.py")]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{files / 'note.py'}:3:5: api_name: note (behind a test of what is installed): ")


def test_folders_and_several_files(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / ".hidden").mkdir()
    (files / ".hidden" / "x.py").write_text(BAD)
    (files / "sub").mkdir()
    (files / "sub" / "more.py").write_text(BAD)
    assert run(["check", str(files), str(files / "good.py")]) == 3
    lines = capsys.readouterr().out.splitlines(keepends=True)
    assert [lines[0], lines[2]] == [BAD_LINE.format(files / "bad.py"), BAD_LINE.format(files / "sub" / "more.py")]
    assert len(lines) == 3


def test_json(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--json", str(files / "bad.py"), str(files / "good.py")]) == 3
    answer = json.loads(capsys.readouterr().out)
    assert sorted(answer) == ["files", "findings", "schema", "versions"]
    assert (answer["schema"], answer["files"]) == (1, 2)
    assert sorted(answer["versions"]) == ["jax", "jaxlib", "python"]
    assert answer["findings"] == [
        {
            "kind": "api_name",
            "file": str(files / "bad.py"),
            "line": 5,
            "column": 12,
            "end_line": 5,
            "end_column": 21,
            "message": "pltpu.ANY is gone since jax 0.10.0",
            "suggestion": "use pl.ANY",
            "symbol": "pltpu.ANY",
            "guard": "",
            "conditional": False,
            "guarded": False,
        }
    ]


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert run(["check", "--stdin-filename", "editor.py", "-"]) == 3
    assert capsys.readouterr().out == BAD_LINE.format("editor.py")


def test_what_a_workload_file_is_asked_for_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "import jax\ndef workload(x):\n    return x\ndef create_inputs():\n    return jax.tree_map\n"
    (tmp_path / "w.py").write_text(text)
    assert run(["check", str(tmp_path / "w.py")]) == 3
    assert "w.py:5:12: api_name: jax.tree_map is gone since jax 0.6.0; use jax.tree.map" in capsys.readouterr().out


def test_bad_input_is_one_line_and_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    (tmp_path / "empty").mkdir()
    for name, said in (
        ("missing.py", "no such Python source; check the path"),
        ("latin.py", "the Python source is not UTF-8"),
        ("empty", "no .py file in the folder; name another one"),
    ):
        assert run(["check", str(tmp_path / name)]) == 1
        out, err = capsys.readouterr()
        assert out == "" and said in err and err.count("\n") == 1
    assert run(["check", "--python", str(tmp_path / "nowhere"), str(tmp_path)]) == 1


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check"]) == 2
    assert "Missing argument 'FILE...'" in capsys.readouterr().err
