"""Wrong kernels, as models write them, each taken up the ladder until it fails: in the right stage, as the right kind.

Each file of wrong_kernels/ says on its first line where it must end, and on its second what is wrong with it, beginning
with the row of the facts' error table where it has one, or with the silent mistake.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ragctx import children
from ragctx.failures import FailureKind, classify
from ragctx.verify.api_check import check_source
from ragctx.verify.symbols import SymbolTable, load_table

HERE = Path(__file__).resolve().parent
BATCH = 40
# Rows of the error table; 42 is what verify never reaches.
ROWS = range(1, 42)
# What compiles without a word, with the words by which the files name it.
SILENT = (
    "grid too short",
    "grid too long",
    "elements",
    "x[20, :] of 16 rows",
    "dynamic out-of-bounds",
    "`o = value` rebinding",
    "accumulator never cleared",
    "revisited output block",
    "'parallel' on",
    "aliased overlap",
    "never waited for",
    "semaphore that no copy signals",
    "read before the wait",
    "overwritten while it is copied",
    "one copy, two waits",
    "unmasked edge block",
    "an output never written",
)
# A process that has met one of these is no use to the next file.
POISONS = {FailureKind.CRASH, FailureKind.TIMEOUT, FailureKind.DEADLOCK}


@dataclass(frozen=True)
class Wrong:
    """A wrong kernel and where it must end."""

    path: Path
    stage: str
    kind: FailureKind
    about: str

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def alone(self) -> bool:
        return self.stage in ("numerics", "integrity") or self.kind in POISONS


def read(path: Path) -> Wrong:
    first, second = path.read_text(encoding="utf-8").splitlines()[:2]
    stage, kind = first.removeprefix("# expect: ").split()
    return Wrong(path, stage, FailureKind(kind), second.removeprefix("# "))


WRONG = [read(path) for path in sorted((HERE / "wrong_kernels").glob("*.py"))]
ALONE = [wrong for wrong in WRONG if wrong.alone]
TOGETHER = [wrong for wrong in WRONG if not wrong.alone]
BATCHES = [TOGETHER[start : start + BATCH] for start in range(0, len(TOGETHER), BATCH)]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> SymbolTable:
    return load_table(folder=tmp_path_factory.mktemp("symbols"))


def ends(wrongs: list[Wrong], table: SymbolTable) -> dict[str, tuple[str, str]]:
    """Return the stage and kind in which each ends: the ladder of `ladder.py` and the API check, as verify does it."""
    alone = wrongs[0].alone
    request = {
        "files": [str(wrong.path) for wrong in wrongs],
        "child": str(children.SCRIPTS),
        "numerics": alone,
        "cpu_s": 20 if alone else 300,
        "idle_s": 8,
    }
    result = children.run_script(str(HERE / "ladder.py"), request, timeout_s=600)
    return {Path(end["file"]).stem: _verdict(end, table) for end in result.answer or []}


def _verdict(end: dict[str, Any], table: SymbolTable) -> tuple[str, str]:
    stage, kind = end["stage"], end["found"]
    if kind is None and end["type"] is not None:
        kind = classify(end["type"], end["message"], stage=stage, traceback=end["traceback"])
    elif kind is None and stage not in ("compiled", "done"):
        kind = FailureKind.CRASH
    if stage in ("import", "trace") and kind is not None:
        path = Path(end["file"])
        findings = check_source(path.read_text(encoding="utf-8"), table=table, filename=path.name)
        certain = [finding for finding in findings if not finding.guarded and not finding.conditional]
        if certain:
            return "api", str(certain[0].kind)
    return stage, str(kind)


@pytest.mark.slow
@pytest.mark.tpu_compiler
@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: f"{batch[0].name}-and-{len(batch) - 1}-more")
def test_fails_before_it_runs(batch: list[Wrong], table: SymbolTable) -> None:
    assert ends(batch, table) == {wrong.name: (wrong.stage, str(wrong.kind)) for wrong in batch}


@pytest.mark.slow
@pytest.mark.tpu_compiler
@pytest.mark.parametrize("wrong", ALONE, ids=lambda wrong: wrong.name)
def test_fails_when_it_runs(wrong: Wrong, table: SymbolTable) -> None:
    assert ends([wrong], table) == {wrong.name: (wrong.stage, str(wrong.kind))}


def test_every_row_of_the_error_table_has_wrong_kernels() -> None:
    rows = Counter(int(found[1]) for wrong in WRONG if (found := re.match(r"row (\d+): ", wrong.about)))
    assert set(rows) == set(ROWS)
    assert {row: count for row, count in rows.items() if count < 3} == {}


def test_every_silent_mistake_has_wrong_kernels() -> None:
    silent = [wrong.about for wrong in WRONG if wrong.name.startswith("silent_")]
    assert [mistake for mistake in SILENT if not any(mistake in about for about in silent)] == []


def test_every_kind_but_cheating_has_a_wrong_kernel() -> None:
    assert {wrong.kind for wrong in WRONG} == set(FailureKind) - {FailureKind.CHEATING, FailureKind.OTHER}
