"""`ragctx verify`: what it prints, and its exit status."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ragctx.cli.main import run
from ragctx.cli.verdict_view import Row, harmless, table_lines, verdict_lines
from ragctx.cli.verify import find_candidates, workload_finder
from ragctx.errors import RagctxError
from ragctx.failures import FailureKind
from ragctx.verify.verdict import Latency, Stage, StageResult, Status, Verdict

KERNELS = Path(__file__).parent.parent / "verify" / "kernels"
SYNTAX = "import jax\n\n\ndef workload(x)\n    return x\n"
SYNTAX_TEXT = """\
{}: failed at parse: syntax
  parse      failed     0.00 CPU-s
  api        skipped (ended at parse)
  import     skipped (ended at parse)
  trace      skipped (ended at parse)
  lower      skipped (ended at parse)
  compile    skipped (ended at parse)
  numerics   skipped (ended at parse)
  integrity  skipped (ended at parse)
error: SyntaxError: expected ':'
     4 | def workload(x)
meaning: """
WRONG = Verdict(
    Stage.NUMERICS,
    FailureKind.WRONG_VALUES,
    False,
    (
        StageResult(Stage.COMPILE, Status.PASSED, "", 1.25),
        StageResult(Stage.NUMERICS, Status.FAILED, "wrong", 12.5),
        StageResult(Stage.INTEGRITY, Status.SKIPPED, "ended at numerics"),
    ),
    message="wrong \x1b[31mvalues",
    explanation="It runs.",
    documents=("rule/a", "rule/b"),
    notes=("a note",),
    isolation="bubblewrap: no network",
    targets=("v6e", "v5e"),
    seeds=(0, 1),
    code={"line": 12, "text": "\treturn x"},
    mismatch=(
        {
            "output": 0,
            "seed": 1,
            "count": 1200,
            "size": 4096,
            "first": [0, 1],
            "worst": [2, 3],
            "got": 1,
            "expected": 2,
        },
    ),
    pallas_share=0.987,
    latency_measured=Latency(0.123456, "profiler", spread_ms=0.01),
    latency_estimated=Latency(None, "schedule"),
    versions={"libtpu": "1", "jax": "2"},
)
WRONG_TEXT = """\
c.py: failed at numerics: wrong_values
  compile    passed     1.25 CPU-s
  numerics   failed    12.50 CPU-s
  integrity  skipped (ended at numerics)
error: wrong  [31mvalues
    12 |     return x
       output 0, seed 1: 1,200 of 4,096 values wrong, first at [0, 1]; at [2, 3] 1, expected 2
meaning: It runs.
read: ragctx show rule/a
      ragctx show rule/b
note: a note
latency, measured: 0.1235 +- 0.01 ms (profiler)
latency, estimated: none (schedule)
targets v6e, v5e; seeds 0, 1; 99 % of the work in kernels; jax 2; libtpu 1
isolation: bubblewrap: no network
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _shared_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGCTX_CACHE", str(cache))


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    path = tmp_path / "rows.py"
    path.write_text((KERNELS / "workloads" / "scale_rows.py").read_text())
    return path


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.py"
    path.write_text(SYNTAX)
    return path


def text(lines: object) -> str:
    return "".join("".join(p.text for p in line).rstrip() + "\n" for line in lines)  # type: ignore[attr-defined]


# --- one candidate ---


def test_a_failed_candidate_is_status_3(wrong: Path, workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(wrong), "--workload", str(workload)]) == 3
    out, err = capsys.readouterr()
    assert out.startswith(SYNTAX_TEXT.format(wrong)) and err == ""


def test_json_is_the_verdict(wrong: Path, workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(wrong), "-w", str(workload), "--json", "--target", "v5e", "--target", "v4"]) == 3
    value = json.loads(capsys.readouterr().out)
    assert list(value)[:4] == ["schema", "stage", "kind", "passed"]
    assert json.loads(json.dumps(Verdict.from_json(value).to_json())) == value
    assert (value["stage"], value["kind"], value["targets"]) == ("parse", "syntax", ["v5e", "v4"])
    assert value["code"] == {"line": 4, "text": "def workload(x)"}


def test_not_all_stages_is_undecided_and_status_4(
    workload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fine.py").write_text("def workload(x):\n    return x\n")
    assert run(["verify", str(tmp_path / "fine.py"), "-w", str(workload), "--stages", "parse"]) == 4
    assert capsys.readouterr().out.splitlines()[:3] == [
        f"{tmp_path / 'fine.py'}: undecided at parse",
        "  parse      passed     0.00 CPU-s",
        "  api        skipped (not asked for)",
    ]


@pytest.mark.slow
@pytest.mark.tpu_compiler
def test_a_good_candidate_is_status_0_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    # Not a copy: pytest's folders are closed to the sandbox's own user.
    good, workload = KERNELS / "good_scale_rows.py", KERNELS / "workloads" / "scale_rows.py"
    command = ["verify", str(good), "-w", str(workload), "--seeds", "1", "--json"]
    assert run(command) == 0
    first = capsys.readouterr().out
    assert json.loads(first)["passed"] is True
    assert run(command) == 0
    assert capsys.readouterr().out == first, "the second answer is the kept one, its CPU-seconds included"


def test_no_cache_keeps_nothing(
    wrong: Path, workload: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAGCTX_CACHE", str(tmp_path / "own"))
    assert run(["verify", str(wrong), "-w", str(workload), "--no-cache"]) == 3
    assert not (tmp_path / "own" / "verdicts").exists()
    assert run(["verify", str(wrong), "-w", str(workload)]) == 3
    assert len(list((tmp_path / "own" / "verdicts").rglob("*.json"))) == 1


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["missing.py", "-w", "rows.py"], "missing.py: no such candidate; check the path"),
        (["wrong.py", "-w", "missing.py"], "missing.py: no such workload; check the path"),
        (["wrong.py", "-w", "rows.py", "--target", "v9"], None),
        (["wrong.py", "-w", "rows.py", "--stages", "parse,x"], None),
        (["wrong.py", "-w", "rows.py", "--python", "/no/python"], None),
        (["--all", "missing"], "missing: no such folder; check the path"),
        (["--all", "empty"], "empty: no candidate (.py file) below the folder; name another one"),
        (["--all", ".", "-w", "empty"], "empty: no workload (.py file) in the folder; name another one"),
    ],
)
def test_bad_input_is_one_line_and_status_1(
    arguments: list[str],
    line: str | None,
    wrong: Path,
    workload: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(wrong.parent)
    Path("empty").mkdir()
    assert run(["verify", *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("ragctx: ")
    assert line is None or err == f"ragctx: {line}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a.py"],
        ["a.py", "--all", "."],
        ["a.py", "-w", "b.py", "--seeds", "0"],
        ["a.py", "-w", "b.py", "--jobs", "x"],
    ],
)
def test_usage_errors_are_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", *arguments]) == 2
    assert capsys.readouterr().out == ""


# --- many ---


@pytest.fixture
def folder(tmp_path: Path, workload: Path) -> Path:
    place = tmp_path / "candidates"
    for name in ("rows", "other"):
        (place / name).mkdir(parents=True)
    (place / "rows" / "one.py").write_text(SYNTAX)
    (place / "rows" / "two.py").write_text("def workload(x):\n    return x\n")
    (place / "other" / "three.py").write_text("")
    return place


def test_all_prints_a_table_and_the_worst_status(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["verify", "--all", str(folder), "-w", str(folder.parent), "--stages", "parse", "--jobs", "2"]
    (folder.parent / "wrong.py").unlink(missing_ok=True)
    assert run(command) == 1
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split() == ["candidate", "workload", "result", "stage", "kind", "message"]
    assert lines[1].split()[:4] == ["other/three.py", "-", "bad", "input"]
    assert lines[2].split() == [
        "rows/one.py",
        "rows.py",
        "failed",
        "parse",
        "syntax",
        "SyntaxError:",
        "expected",
        "':'",
    ]
    assert lines[3].split() == ["rows/two.py", "rows.py", "undecided", "parse", "-"]
    assert lines[4] == "3 candidates: 1 failed, 1 undecided, 1 bad input"
    assert err.splitlines()[1] == "ragctx: 2/3 rows/one.py: syntax"


@pytest.mark.parametrize(("left", "status"), [(("one", "two"), 3), (("two",), 4)])
def test_failed_is_worse_than_undecided(
    left: tuple[str, ...], status: int, folder: Path, workload: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in list(folder.rglob("*.py")):
        if path.stem not in left:
            path.unlink()
    command = ["verify", "--all", str(folder), "-w", str(workload), "--stages", "parse", "--jobs", "1", "--json"]
    assert run(command) == status
    out, err = capsys.readouterr()
    values = [json.loads(line) for line in out.splitlines()]
    assert [value["candidate"] for value in values] == [f"rows/{name}.py" for name in left]
    assert all(Verdict.from_json(value["verdict"]).stage is Stage.PARSE for value in values)
    assert err.splitlines()[-1].startswith(f"{len(left)} candidates: ")


def test_candidates_are_what_is_not_hidden(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "sub/c.py", "workload.py", "_x.py", ".h/d.py", "__pycache__/e.py", "note.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert [p.relative_to(tmp_path).as_posix() for p in find_candidates(tmp_path)] == ["a.py", "b.py", "sub/c.py"]


@pytest.mark.parametrize(
    ("candidate", "found"),
    [
        ("8p_GEMM.py", "8p_GEMM"),
        ("try-8p_GEMM-003.py", "8p_GEMM"),
        ("8p_GEMM_int8_003.py", "8p_GEMM_int8"),
        ("8p_GEMM/sample.py", "8p_GEMM"),
        ("12p_RMSNorm/8p_GEMM.py", "8p_GEMM"),
        ("12p_RMSNorm/deep/x.py", "12p_RMSNorm"),
        ("18p_GEMM.py", None),
        ("GEMM.py", None),
    ],
)
def test_a_workload_is_found_by_name(candidate: str, found: str | None, tmp_path: Path) -> None:
    workloads, folder = tmp_path / "workloads", tmp_path / "candidates"
    workloads.mkdir()
    for name in ("8p_GEMM", "8p_GEMM_int8", "12p_RMSNorm"):
        (workloads / f"{name}.py").write_text("")
    find = workload_finder(folder, str(workloads))
    if found is None:
        with pytest.raises(RagctxError, match="name the file after its workload"):
            find(folder / candidate)
    else:
        assert find(folder / candidate) == workloads / f"{found}.py"


def test_ragctxs_own_workloads_and_one_beside(tmp_path: Path, checkout: Path) -> None:
    find = workload_finder(tmp_path, None)
    assert find(tmp_path / "8p_GEMM_v2.py") == checkout / "evaluation" / "workloads" / "8p_GEMM.py"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "workload.py").write_text("")
    assert find(tmp_path / "own" / "8p_GEMM.py") == tmp_path / "own" / "workload.py"


# --- how it looks ---


def test_every_part_of_a_verdict_is_told() -> None:
    assert text(verdict_lines(WRONG, "c.py")) == WRONG_TEXT


def test_a_table_of_nothing_but_bad_input() -> None:
    rows = [Row("a.py", "", None, RagctxError("no such thing", where="a.py"))]
    assert text(table_lines(rows)) == (
        "candidate  workload  result     stage  kind  message\n"
        "a.py       -         bad input  -      -     a.py: no such thing\n"
        "1 candidates: 1 bad input\n"
    )


def test_what_a_candidate_wrote_cannot_steer_the_terminal() -> None:
    assert harmless("a\x1b[2Jb\r\nc\u202ed") == "a [2Jb  c d"


def test_a_terminal_gets_colours(
    wrong: Path, workload: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("NO_COLOR", "TERM", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run(["verify", str(wrong), "-w", str(workload)]) == 3
    out = capsys.readouterr().out
    assert f"{wrong}: \x1b[1;31mfailed\x1b[0m at parse: syntax\n" in out
    assert "  parse      \x1b[1;31mfailed  \x1b[0m" in out and "\x1b[36mdef workload(x)\x1b[0m" in out
