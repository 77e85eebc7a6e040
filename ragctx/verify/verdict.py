"""The verdict: what verify says of one candidate, as an immutable value and as JSON.

The JSON form is a contract (DESIGN.md, *Verdict*): programs read it, so `SCHEMA` changes whenever a field does.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ragctx.failures import FailureKind

SCHEMA = 1


class Stage(enum.StrEnum):
    """The ladder, in order. `DONE` is where a candidate ends that passed every stage that was not skipped."""

    PARSE = "parse"
    API = "api"
    IMPORT = "import"
    TRACE = "trace"
    LOWER = "lower"
    COMPILE = "compile"
    NUMERICS = "numerics"
    INTEGRITY = "integrity"
    DONE = "done"


class Status(enum.StrEnum):
    """How one stage ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class StageResult:
    """One rung of the ladder.

    Attributes:
        name: The stage.
        status: How it ended.
        reason: Why it failed or was skipped, one line, or "".
        cpu_s: CPU-seconds it used.
    """

    name: Stage
    status: Status
    reason: str = ""
    cpu_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Latency:
    """A device time in milliseconds, or why there is none.

    Attributes:
        ms: Median (measured) or estimate; None where the method cannot support a number.
        method: How it was obtained: `profiler`, `cost_analysis`, `schedule`.
        spread_ms: Interquartile range of measured runs, or None.
        detail: What the number is made of, for a reader; JSON-serialisable.
    """

    ms: float | None
    method: str
    spread_ms: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What verify says of a candidate for a workload.

    Attributes:
        stage: Where it ended: the failing stage, or `done`.
        kind: Why it failed, or None.
        passed: True, False, or None when undecided (a stage was skipped that `done` requires, or ragctx itself could
            not judge).
        stages: Every stage of the ladder in order.
        message: The first line of the error, or "".
        explanation: What it means in plain words, or "".
        documents: Ids of corpus documents whose triggers match, most specific first.
        notes: Further facts, one line each.
        isolation: Which sandbox the candidate had.
        targets: Targets compiled for, in order.
        seeds: Input seeds whose outputs were compared.
        code: The candidate's line the error points at, as {line, text}, or None.
        mismatch: For wrong values: per output where and by how much, or an empty tuple.
        pallas_share: Share of the work inside pallas_call (0 to 1), or None.
        latency_measured: Device time on a TPU, or None.
        latency_estimated: Estimate without one, or None.
        versions: Versions that shaped the verdict.
    """

    stage: Stage
    kind: FailureKind | None
    passed: bool | None
    stages: tuple[StageResult, ...]
    message: str = ""
    explanation: str = ""
    documents: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    isolation: str = ""
    targets: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    code: Mapping[str, Any] | None = None
    mismatch: tuple[Mapping[str, Any], ...] = ()
    pallas_share: float | None = None
    latency_measured: Latency | None = None
    latency_estimated: Latency | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def exit_status(self) -> int:
        """Return the process exit status: 0 done, 3 failed, 4 undecided."""
        return {True: 0, False: 3, None: 4}[self.passed]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, keys in the order of the fields, `schema` first."""
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Verdict:
        """Return the verdict of `to_json`'s form.

        Raises:
            ValueError: If it is of another schema or not a verdict.
        """
        if value.get("schema") != SCHEMA:
            raise ValueError(f"verdict of schema {value.get('schema')!r}, this ragctx reads {SCHEMA}")
        fields = {k: v for k, v in value.items() if k != "schema"}
        fields["stage"] = Stage(fields["stage"])
        fields["kind"] = None if fields["kind"] is None else FailureKind(fields["kind"])
        fields["stages"] = tuple(
            StageResult(Stage(s["name"]), Status(s["status"]), s["reason"], s["cpu_s"]) for s in fields["stages"]
        )
        for name in ("documents", "notes", "targets", "seeds", "mismatch"):
            fields[name] = tuple(fields[name])
        for name in ("latency_measured", "latency_estimated"):
            fields[name] = None if fields[name] is None else Latency(**fields[name])
        return cls(**fields)
