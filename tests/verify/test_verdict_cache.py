"""What shapes a verdict is in its key; what hangs on the machine is not kept; what is damaged is a miss."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ragctx.corpus.document import Document, Kind
from ragctx.failures import FailureKind
from ragctx.verify import cache as caches
from ragctx.verify.cache import VerdictCache, cacheable, interpreter_versions, verdict_key
from ragctx.verify.jobs import DEFAULT_JUDGE, Job, JobOptions, read_texts
from ragctx.verify.limits import Limits
from ragctx.verify.verdict import Latency, Stage, StageResult, Status, Verdict

KEY = "ab" * 32
FAILED = Verdict(
    Stage.NUMERICS,
    FailureKind.WRONG_VALUES,
    False,
    (StageResult(Stage.PARSE, Status.PASSED, "", 0.25), StageResult(Stage.NUMERICS, Status.FAILED, "é", 1.5)),
    message="é",
    documents=("rule/a",),
    targets=("v6e",),
    seeds=(0, 1),
    code={"line": 3, "text": "x"},
    mismatch=({"output": 0, "first": [1, 2]},),
    pallas_share=0.75,
    latency_estimated=Latency(1.5, "schedule", detail={"steps": 4}),
    versions={"jax": "0.10.2"},
)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "candidate.py").write_text("A = 1\n")
    (tmp_path / "work.py").write_text("import helper\n")
    (tmp_path / "helper.py").write_text("B = 1\n")
    return Job(tmp_path / "candidate.py", tmp_path / "work.py")


def key(job: Job, judge: str = DEFAULT_JUDGE) -> str:
    return verdict_key(job, read_texts(job), judge)


def test_what_is_kept_comes_back_equal(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path / "cache")
    assert cache.get(KEY) is None
    assert cache.put(KEY, FAILED)
    assert cache.get(KEY) == FAILED
    assert [p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*.json")] == [f"cache/ab/{KEY}.json"]


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": FailureKind.TIMEOUT},
        {"kind": FailureKind.CRASH},
        {"kind": FailureKind.DEADLOCK},
        {"kind": None, "passed": None},
        {"kind": None, "passed": True, "stage": Stage.DONE, "latency_measured": Latency(1.0, "profiler")},
    ],
)
def test_what_hangs_on_the_machine_is_not_kept(changes: Mapping[str, object], tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path)
    assert not cache.put(KEY, replace(FAILED, **changes))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_what_passed_is_kept() -> None:
    assert cacheable(replace(FAILED, kind=None, passed=True, stage=Stage.DONE))


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"key": "%s"}' % KEY.encode(),
        b'{"key": "%s", "verdict": {"schema": 1}}' % KEY.encode(),
        b'{"key": "%s", "verdict": 7}' % KEY.encode(),
        b"[" * 100_000,
    ],
)
def test_a_damaged_entry_is_a_miss_and_replaced(damage: bytes, tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path)
    cache.put(KEY, FAILED)
    path = tmp_path / "ab" / f"{KEY}.json"
    path.write_bytes(damage)
    assert cache.get(KEY) is None
    cache.put(KEY, FAILED)
    assert cache.get(KEY) == FAILED


def test_an_entry_of_another_schema_or_key_is_a_miss(tmp_path: Path) -> None:
    cache = VerdictCache(tmp_path)
    cache.put(KEY, FAILED)
    path = tmp_path / "ab" / f"{KEY}.json"
    entry = json.loads(path.read_text())
    for changed in ({**entry, "key": "x"}, {**entry, "verdict": {**entry["verdict"], "schema": 0}}):
        path.write_text(json.dumps(changed))
        assert cache.get(KEY) is None


def test_an_unwritable_folder_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not VerdictCache(tmp_path / "file").put(KEY, FAILED)


def test_the_key_is_the_same_for_the_same_job_elsewhere(job: Job, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("candidate.py", "work.py", "helper.py"):
        (elsewhere / name).write_bytes((tmp_path / name).read_bytes())
        os.utime(elsewhere / name, (0, 0))
    (elsewhere / "unrelated.py").write_text("")
    there = Job(elsewhere / "candidate.py", elsewhere / "work.py", JobOptions(cache=elsewhere, python=sys.executable))
    assert key(there) == key(job)


def test_everything_that_shapes_a_verdict_changes_the_key(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {key(job)}
    document = Document("rule/a", Kind.RULE, "A", "", triggers=("x",))
    for changes in (
        {"targets": ("v5e",)},
        {"targets": ("v6e", "v5e")},
        {"stages": ("trace",)},
        {"seeds": (0,)},
        {"require_sandbox": "bubblewrap"},
        {"min_pallas_share": 0.4},
        {"limits": Limits(memory_bytes=1 << 30)},
        {"documents": (document,)},
    ):
        keys.add(key(replace(job, options=JobOptions(**changes))))  # type: ignore[arg-type]
    assert len(keys) == 9
    for name in ("candidate.py", "work.py", "helper.py"):
        (tmp_path / name).write_text((tmp_path / name).read_text() + "# more\n")
        keys.add(key(job))
    assert len(keys) == 12
    (tmp_path / "judge.py").write_text("def judge(): ...\n")
    keys.add(key(job, f"{tmp_path / 'judge.py'}:judge"))
    for name, value in (
        ("own_digest", lambda: "other code"),
        ("interpreter_versions", lambda python: {"jax": "0.6.2"}),
        ("FORMAT", 0),
        ("SCHEMA", 0),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(caches, name, value)
            keys.add(key(job))
    assert len(keys) == 17


def test_documents_count_by_what_matching_needs(job: Job) -> None:
    one = Document("rule/a", Kind.RULE, "A", "body", triggers=("x",))
    keys = {key(replace(job, options=JobOptions(documents=(d,)))) for d in (one, replace(one, body="another"))}
    assert len(keys) == 1


def test_versions_of_this_and_another_interpreter(tmp_path: Path) -> None:
    ours = interpreter_versions(None)
    assert {"python", "machine", "numpy", "jax", "jaxlib"} <= set(ours)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    bare = interpreter_versions(str(tmp_path / "venv" / "bin" / "python"))
    assert set(bare) == {"python", "machine"} and bare["python"] == ours["python"]
