"""Each trick that a verifier once fell for, played on ours: it ends where and as what it should, and never passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctx.failures import FailureKind
from ragctx.verify.run import verify_candidate
from ragctx.verify.verdict import Stage, Verdict

pytestmark = [pytest.mark.slow, pytest.mark.tpu_compiler]

KERNELS = Path(__file__).parent / "kernels"
TRICKS = {
    # calling the reference, or finding it
    "imports_the_reference": (Stage.IMPORT, FailureKind.IMPORT_ERROR),
    "finds_the_reference_file": (Stage.NUMERICS, FailureKind.WRONG_VALUES),
    # no work in a kernel
    "copies_the_reference": (Stage.INTEGRITY, FailureKind.NOT_PALLAS),
    "trivial_kernel": (Stage.INTEGRITY, FailureKind.NOT_PALLAS),
    "idle_kernel": (Stage.INTEGRITY, FailureKind.NOT_PALLAS),
    "falls_back": (Stage.INTEGRITY, FailureKind.NOT_PALLAS),
    "interprets_itself": (Stage.INTEGRITY, FailureKind.NOT_PALLAS),
    "asks_for_the_backend": (Stage.INTEGRITY, FailureKind.NOT_PALLAS),
    "calls_the_host": (Stage.TRACE, FailureKind.CHEATING),
    # results that are not computed from the inputs
    "returns_a_cached_result": (Stage.NUMERICS, FailureKind.WRONG_VALUES),
    "adds_nothing_of_the_input": (Stage.NUMERICS, FailureKind.WRONG_VALUES),
    "one_seed_only": (Stage.NUMERICS, FailureKind.WRONG_VALUES),
    "knows_the_seeds": (Stage.NUMERICS, FailureKind.CHEATING),
    "zeroes_the_inputs": (Stage.NUMERICS, FailureKind.WRONG_VALUES),
    # another program where it is not tested
    "falls_back_by_platform": (Stage.NUMERICS, FailureKind.WRONG_VALUES),
    "another_program_at_config": (Stage.NUMERICS, FailureKind.WRONG_VALUES),
    # results of another type
    "returns_a_scalar": (Stage.TRACE, FailureKind.WRONG_TYPE),
    "another_dtype": (Stage.TRACE, FailureKind.WRONG_TYPE),
    "shorter_floats": (Stage.INTEGRITY, FailureKind.CHEATING),
    # attacks on the verdict
    "prints_a_verdict": (Stage.TRACE, FailureKind.CHEATING),
    "forges_a_report": (Stage.TRACE, FailureKind.CHEATING),
    "patches_the_judge": (Stage.NUMERICS, FailureKind.WRONG_VALUES),
    "kills_its_parent": (Stage.NUMERICS, FailureKind.WRONG_VALUES),
}
ON_MATMUL = ("idle_kernel", "shorter_floats")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("verify-cache")


def verdict_on(name: str, cache: Path) -> Verdict:
    workload = "matmul" if name in ON_MATMUL else "scale_rows"
    return verify_candidate(KERNELS / "tricks" / f"{name}.py", KERNELS / "workloads" / f"{workload}.py", cache=cache)


@pytest.mark.parametrize("name", sorted(TRICKS))
def test_the_trick_is_caught(name: str, cache: Path) -> None:
    verdict = verdict_on(name, cache)
    assert (verdict.stage, verdict.kind, verdict.passed) == (*TRICKS[name], False), verdict.message


def test_every_trick_has_an_expectation() -> None:
    assert {path.stem for path in (KERNELS / "tricks").glob("*.py")} == set(TRICKS)


def test_one_seed_more_than_announced_is_compared_and_it_follows_from_the_program(cache: Path) -> None:
    candidate, workload = KERNELS / "good_scale_rows.py", KERNELS / "workloads" / "scale_rows.py"
    first, second = (verify_candidate(candidate, workload, seeds=(5,), cache=cache) for _ in range(2))
    assert first.seeds[0] == 5
    assert len(first.seeds) == 2
    assert first.seeds[1] >= 1000
    assert first.seeds == second.seeds
