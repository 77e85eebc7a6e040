"""The report of the candidate's process, whatever it holds forced into form: it may be forged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragctx.verify.verdict import Stage

_STAGES = {"import": Stage.IMPORT, "trace": Stage.TRACE, "trace_check": Stage.TRACE, "lower": Stage.LOWER}


@dataclass(frozen=True, slots=True)
class Error:
    """What an exception was, and the candidate's line it points at."""

    type: str
    message: str
    line: int | None
    traceback: str = ""

    @property
    def text(self) -> str:
        """Return type and message on one line."""
        return f"{self.type}: {self.message}"


@dataclass(frozen=True, slots=True)
class TraceReport:
    """What the candidate's process claims.

    Attributes:
        stage: Stage it was in last.
        finished: Whether it came to its end.
        error: What was raised, or None.
        programs: Name of the program of each target.
        check: Name of the program at CHECK sizes, or None.
        outputs: [dtype, shape] of each result.
        structure: Tree of the results, as text.
        seconds: CPU-seconds a stage.
    """

    stage: Stage
    finished: bool
    error: Error | None
    programs: Mapping[str, str]
    check: str | None
    outputs: list[Any]
    structure: str
    seconds: Mapping[Stage, float]

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> TraceReport:
        """Return the report of a JSON object of any form."""
        stage = report.get("stage")
        programs, check = report.get("programs"), report.get("check")
        return cls(
            stage=_STAGES.get(stage, Stage.LOWER if stage == "done" else Stage.IMPORT)
            if isinstance(stage, str)
            else Stage.IMPORT,
            finished=stage == "done",
            error=_error(report.get("error")),
            programs={k: v for k, v in programs.items() if _is_program(v)} if isinstance(programs, dict) else {},
            check=check if _is_program(check) else None,
            outputs=_types(report.get("outputs")),
            structure=str(report.get("structure"))[:2000],
            seconds=_seconds(report.get("seconds")),
        )


def _is_program(name: object) -> bool:
    return isinstance(name, str) and name.startswith("program-") and name.removeprefix("program-").isdigit()


def _error(value: object) -> Error | None:
    if not isinstance(value, dict):
        return None
    line = value.get("line")
    return Error(
        str(value.get("type"))[:200],
        str(value.get("message"))[:20_000],
        line if isinstance(line, int) else None,
        str(value.get("traceback", ""))[:40_000],
    )


def _types(value: object) -> list[Any]:
    if not isinstance(value, list):
        return []
    return [[str(v[0]), v[1]] if isinstance(v, list) and len(v) == 2 else ["?", []] for v in value]


def _seconds(value: object) -> dict[Stage, float]:
    """Return CPU-seconds a stage from the times at which stages were entered."""
    if not isinstance(value, dict):
        return {}
    entered = [(k, v) for k, v in value.items() if isinstance(v, int | float)]
    found: dict[Stage, float] = {}
    for (name, start), (_, end) in zip(entered, entered[1:], strict=False):
        if name in _STAGES:
            found[_STAGES[name]] = found.get(_STAGES[name], 0.0) + end - start
    return found
