"""The ladder while a candidate climbs it: which stage ended how, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragctx import failures
from ragctx.corpus.document import Document
from ragctx.corpus.triggers import matching
from ragctx.errors import RagctxError
from ragctx.failures import FailureKind
from ragctx.verify.verdict import Stage, StageResult, Status, Verdict

LADDER = tuple(stage for stage in Stage if stage is not Stage.DONE)


def as_stages(names: Iterable[str] | None) -> tuple[Stage, ...]:
    """Return the stages to run, in order: all of them, or the named ones with everything they rest on.

    Raises:
        RagctxError: If there is no such stage.
    """
    if names is None:
        return LADDER
    wanted = []
    for name in names:
        try:
            wanted.append(Stage(name))
        except ValueError:
            raise RagctxError(f"no stage is called '{name}'", remedy=f"use one of: {', '.join(LADDER)}") from None
    if Stage.DONE in wanted or not wanted:
        return LADDER
    # Up to tracing each stage needs the one before; what comes after needs a traced program only.
    ground = LADDER[: LADDER.index(Stage.TRACE) + 1]
    needed = set(wanted)
    if Stage.COMPILE in needed:
        needed.add(Stage.LOWER)
    if any(stage not in ground for stage in needed):
        needed.update(ground)
    last = max((LADDER.index(s) for s in needed if s in ground), default=0)
    return tuple(s for s in LADDER if s in needed or LADDER.index(s) < last)


@dataclass(slots=True)
class Ladder:
    """What is known of a candidate so far.

    Attributes:
        source: The candidate's text, for the line an error points at.
        wanted: Stages to run.
        seconds: CPU-seconds a stage.
        passed: Stages that passed.
        skipped: Why a stage was not run.
        notes: Further facts.
        extra: Fields of the verdict that the stages fill in.
    """

    source: str
    wanted: Sequence[Stage]
    seconds: dict[Stage, float] = field(default_factory=dict)
    passed: list[Stage] = field(default_factory=list)
    skipped: dict[Stage, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    def ok(self, *stages: Stage) -> None:
        """Record stages as passed, those that were asked for."""
        self.passed.extend(stage for stage in stages if stage in self.wanted and stage not in self.passed)

    def spent(self, stage: Stage, cpu_s: float) -> None:
        """Add CPU-seconds to a stage."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + max(0.0, cpu_s)

    def failed(
        self,
        stage: Stage,
        kind: FailureKind,
        message: str,
        *,
        line: int | None = None,
        documents: Sequence[Document] = (),
    ) -> Verdict:
        """Return the verdict of a candidate that failed a stage."""
        first = failures.first_line(message)
        found = tuple(document.id for document in matching(documents, message)) if documents else ()
        return self._verdict(
            stage,
            kind,
            passed=False,
            reason=first,
            message=first,
            explanation=failures.explanation(kind),
            documents=found,
            code=self._code(line),
        )

    def undecided(self, stage: Stage, reason: str) -> Verdict:
        """Return the verdict of a candidate that ragctx could not judge."""
        self.skipped[stage] = reason
        self.notes.append(f"undecided: {reason}")
        return self._verdict(stage, None, passed=None, message=reason)

    def done(self) -> Verdict:
        """Return the verdict of a candidate that failed nothing: done, or undecided where a stage was not run."""
        missing = [stage for stage in LADDER if stage not in self.passed]
        if not missing:
            return self._verdict(Stage.DONE, None, passed=True)
        return self._verdict(self.passed[-1] if self.passed else Stage.PARSE, None, passed=None)

    def _verdict(
        self, stage: Stage, kind: FailureKind | None, *, passed: bool | None, reason: str = "", **fields: Any
    ) -> Verdict:
        results = tuple(self._result(s, stage, failed=passed is False, reason=reason) for s in LADDER)
        return Verdict(stage, kind, passed, results, notes=tuple(dict.fromkeys(self.notes)), **{**self.extra, **fields})

    def _result(self, stage: Stage, end: Stage, *, failed: bool, reason: str) -> StageResult:
        cpu_s = round(self.seconds.get(stage, 0.0), 3)
        if failed and stage is end:
            return StageResult(stage, Status.FAILED, reason, cpu_s)
        if stage in self.passed:
            return StageResult(stage, Status.PASSED, "", cpu_s)
        why = self.skipped.get(stage) or ("not asked for" if stage not in self.wanted else f"ended at {end}")
        return StageResult(stage, Status.SKIPPED, why, cpu_s)

    def _code(self, line: int | None) -> Mapping[str, Any] | None:
        lines = self.source.splitlines()
        if line is None or not 1 <= line <= len(lines):
            return None
        return {"line": line, "text": lines[line - 1].rstrip()}
