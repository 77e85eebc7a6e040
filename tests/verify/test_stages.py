"""The ladder end to end: what passes, on how many targets, and what a verdict says."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctx.errors import RagctxError
from ragctx.failures import FailureKind
from ragctx.targets import TARGETS
from ragctx.verify.run import verify_candidate
from ragctx.verify.stages import LADDER, Ladder, as_stages
from ragctx.verify.trace_report import TraceReport
from ragctx.verify.verdict import Stage, Status

KERNELS = Path(__file__).parent / "kernels"
EVALUATION = Path(__file__).parents[2] / "evaluation"
GOOD, SCALE_ROWS = KERNELS / "good_scale_rows.py", KERNELS / "workloads" / "scale_rows.py"
WORKLOADS = sorted(path.stem for path in (EVALUATION / "workloads").glob("*.py"))
compiles = [pytest.mark.slow, pytest.mark.tpu_compiler]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("verify-cache")


class TestStages:
    def test_all_by_default(self) -> None:
        assert as_stages(None) == LADDER
        assert as_stages(["done"]) == LADDER

    def test_a_stage_brings_what_it_rests_on(self) -> None:
        assert as_stages(["api"]) == (Stage.PARSE, Stage.API)
        assert as_stages(["compile"]) == (
            Stage.PARSE,
            Stage.API,
            Stage.IMPORT,
            Stage.TRACE,
            Stage.LOWER,
            Stage.COMPILE,
        )
        assert as_stages(["numerics"]) == (Stage.PARSE, Stage.API, Stage.IMPORT, Stage.TRACE, Stage.NUMERICS)

    def test_an_unknown_stage_is_named(self) -> None:
        with pytest.raises(RagctxError, match="no stage is called 'link'"):
            as_stages(["link"])


class TestLadder:
    def test_a_failure_shows_the_line_and_skips_the_rest(self) -> None:
        ladder = Ladder("one\ntwo  \n", LADDER, passed=[Stage.PARSE])
        verdict = ladder.failed(Stage.API, FailureKind.API_NAME, "\nno such name\nmore", line=2)
        assert (verdict.stage, verdict.message, verdict.code) == (
            Stage.API,
            "no such name",
            {"line": 2, "text": "two"},
        )
        assert [result.status for result in verdict.stages] == [Status.PASSED, Status.FAILED] + [Status.SKIPPED] * 6
        assert verdict.exit_status == 3

    def test_without_numerics_nothing_is_decided(self) -> None:
        ladder = Ladder("", as_stages(["compile"]), passed=list(as_stages(["compile"])))
        verdict = ladder.done()
        assert (verdict.stage, verdict.passed, verdict.exit_status) == (Stage.COMPILE, None, 4)

    def test_done_is_all_of_them(self) -> None:
        assert Ladder("", LADDER, passed=list(LADDER)).done().passed is True


class TestForgedReports:
    @pytest.mark.parametrize(
        "report",
        [
            {},
            {"stage": ["done"], "error": 3, "programs": [], "check": {}, "outputs": "x", "seconds": [1]},
            {"stage": "done", "programs": {"v6e": "../../etc/passwd", "v4": 5}, "check": "program-0/../x"},
        ],
    )
    def test_names_nothing_outside_its_folder(self, report: dict[str, object]) -> None:
        read = TraceReport.of(report)
        assert (read.programs, read.check, read.error, read.outputs, read.seconds) == ({}, None, None, [], {})


class TestBadInput:
    def test_seeds_and_targets(self, tmp_path: Path) -> None:
        with pytest.raises(RagctxError, match="seeds must be"):
            verify_candidate(GOOD, SCALE_ROWS, seeds=())
        with pytest.raises(RagctxError, match="unknown target 'v7x'"):
            verify_candidate(GOOD, SCALE_ROWS, targets=("v7x",))
        with pytest.raises(RagctxError, match="no such candidate"):
            verify_candidate(tmp_path / "none.py", SCALE_ROWS)


def test_a_syntax_error_needs_no_process(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "candidate.py").write_text("def workload(x)\n    return x\n")
    verdict = verify_candidate(tmp_path / "candidate.py", SCALE_ROWS, cache=cache)
    assert (verdict.stage, verdict.kind, verdict.isolation) == (Stage.PARSE, FailureKind.SYNTAX, "")
    assert verdict.code == {"line": 1, "text": "def workload(x)"}


@pytest.mark.slow
@pytest.mark.tpu_compiler
class TestEndToEnd:
    def test_a_good_kernel_passes_every_stage(self, cache: Path) -> None:
        verdict = verify_candidate(GOOD, SCALE_ROWS, cache=cache)
        assert (verdict.stage, verdict.kind, verdict.passed) == (Stage.DONE, None, True)
        assert [result.status for result in verdict.stages] == [Status.PASSED] * 8
        assert verdict.pallas_share == 1.0
        assert verdict.notes == ()

    @pytest.mark.parametrize("name", WORKLOADS)
    def test_the_kernel_of_a_workload_is_done_on_all_targets(self, name: str, cache: Path) -> None:
        candidate, workload = EVALUATION / "kernels" / f"{name}.py", EVALUATION / "workloads" / f"{name}.py"
        verdict = verify_candidate(candidate, workload, targets=tuple(TARGETS), cache=cache)
        assert (verdict.stage, verdict.message, verdict.passed) == (Stage.DONE, "", True)

    def test_a_kernel_for_its_sizes_only_is_run_at_them(self, cache: Path) -> None:
        verdict = verify_candidate(KERNELS / "counts_on_config.py", SCALE_ROWS, cache=cache)
        assert verdict.kind is not FailureKind.WRONG_VALUES
        assert "works only at CONFIG sizes: numerics ran there" in verdict.notes

    def test_devices_are_simulated(self, cache: Path) -> None:
        workload = KERNELS / "workloads" / "ring_gather.py"
        verdict = verify_candidate(KERNELS / "ring_gather.py", workload, cache=cache)
        assert (verdict.stage, verdict.message, verdict.passed) == (Stage.DONE, "", True)

    def test_every_device_is_compared(self, cache: Path) -> None:
        workload = KERNELS / "workloads" / "ring_gather.py"
        verdict = verify_candidate(KERNELS / "wrong_on_one_device.py", workload, cache=cache)
        assert (verdict.stage, verdict.kind) == (Stage.NUMERICS, FailureKind.WRONG_VALUES)
        (detail,) = verdict.mismatch
        assert detail["worst"][0] == 2
