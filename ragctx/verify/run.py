"""`verify_candidate`: one candidate up the ladder of stages, in processes that do not trust it.

Three processes (DESIGN.md, *Trust*), single use, each a file run by path under the project's Python:

1. *reference* (`verify_reference.py`): describes the workload abstractly. Its answer is kept, so that a candidate that
   fails early costs one start of JAX.
2. *candidate* (`verify_trace.py`, sandboxed): imports the candidate and traces it from shapes alone; leaves its
   programs, encoded. It never sees an input, an expected output or the reference.
3. *judge* (`verify_judge.py`, sandboxed too): decodes the programs and does all the rest on them: types, lowering and
   compiling for each target, running in TPU interpret mode against the reference, races, the share of work in kernels.
   None of the candidate's code runs in it.
"""

from __future__ import annotations

import ast
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ragctx import targets as chips
from ragctx.corpus.document import Document
from ragctx.errors import RagctxError
from ragctx.failures import FailureKind, classify
from ragctx.files import read_text
from ragctx.verify import reference as references
from ragctx.verify.api_check import check_source
from ragctx.verify.findings import Finding
from ragctx.verify.isolation import Isolation
from ragctx.verify.limits import Ended, Limits, Run
from ragctx.verify.prestart import Place, folder_for
from ragctx.verify.processes import Result, copy_artefact, run_process
from ragctx.verify.reference import Reference
from ragctx.verify.sandbox import best_isolation
from ragctx.verify.stages import Ladder, as_stages
from ragctx.verify.symbols import load_table
from ragctx.verify.trace_report import Error, TraceReport
from ragctx.verify.verdict import Stage, Verdict

MOST_PROGRAM_BYTES = 1 << 30
# A program that only traces at CONFIG sizes is run there if that is thought to take no more.
MOST_CONFIG_CPU_S = 60.0


@dataclass(frozen=True, slots=True)
class StageLimits:
    """CPU-seconds of each part of the judge's work; a verify run as a whole has `Limits.wall_s`.

    Attributes:
        trace_cpu_s: Importing and tracing a candidate, lowering included.
        lower_cpu_s: Lowering for one target.
        compile_cpu_s: Compiling for one target.
        numerics_cpu_s: All runs of the numerics.
        integrity_cpu_s: Counting.
    """

    trace_cpu_s: float = 120.0
    lower_cpu_s: float = 120.0
    compile_cpu_s: float = 200.0
    numerics_cpu_s: float = 120.0
    integrity_cpu_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """What shapes a verdict besides candidate and workload; the arguments of `verify_candidate`."""

    targets: tuple[str, ...] = (chips.DEFAULT_TARGET,)
    stages: tuple[Stage, ...] = as_stages(None)
    seeds: tuple[int, ...] = (0, 1, 2)
    python: str = sys.executable
    min_pallas_share: float = 0.5
    limits: Limits = Limits()
    stage_limits: StageLimits = StageLimits()
    documents: tuple[Document, ...] = ()


def verify_candidate(
    candidate: Path,
    workload: Path,
    *,
    targets: Sequence[str] = (chips.DEFAULT_TARGET,),
    stages: Sequence[str] | None = None,
    seeds: Sequence[int] = (0, 1, 2),
    python: str | None = None,
    require_sandbox: Literal["none", "subprocess", "bubblewrap"] = "none",
    min_pallas_share: float = 0.5,
    limits: Limits | None = None,
    stage_limits: StageLimits | None = None,
    corpus_documents: Sequence[Document] = (),
    cache: Path | None = None,
) -> Verdict:
    """Return the verdict on a candidate for a workload.

    Args:
        candidate: The file that defines `workload`.
        workload: The workload file it is to equal.
        targets: Chips to compile for; the first one's program is also run.
        stages: Stages to run; all by default. Without numerics and integrity the verdict is undecided at best.
        seeds: Input seeds to compare, at least one; one more is added that follows from the candidate's program.
        python: Interpreter whose JAX counts; this one by default.
        require_sandbox: The least isolation that will do.
        min_pallas_share: Least share of the work that must happen inside pallas_call.
        limits: Limits of each process.
        stage_limits: CPU-seconds a stage.
        corpus_documents: Documents whose triggers are matched with the error.
        cache: Folder to keep descriptions of workloads and symbol tables in; the user's cache folder by default.

    Raises:
        RagctxError: If a file, target, stage or option is not usable. A candidate's faults are verdicts, never errors.
    """
    if not seeds or len(set(seeds)) != len(seeds) or any(seed < 0 for seed in seeds):
        raise RagctxError("seeds must be one or more different numbers from 0", where="seeds")
    for name in targets:
        chips.get(name)
    if not targets or len(set(targets)) != len(targets):
        raise RagctxError("targets must be one or more different chips", where="targets")
    options = Options(
        targets=tuple(targets),
        stages=as_stages(stages),
        seeds=tuple(seeds),
        python=python or sys.executable,
        min_pallas_share=min_pallas_share,
        limits=limits or Limits(),
        stage_limits=stage_limits or StageLimits(),
        documents=tuple(corpus_documents),
    )
    source = read_text(candidate, what="candidate")
    ladder = Ladder(source, options.stages)
    ladder.extra |= {"targets": options.targets}
    return _Climb(candidate, source, workload, options, ladder, cache).verdict(require_sandbox)


def places(reference: Reference, isolation: Isolation, *, python: str, limits: Limits) -> tuple[Place, Place]:
    """Return where a candidate is traced and where it is judged, so that both can be started ahead."""
    tracing = Place(python, isolation, limits)
    return tracing, replace(tracing, readable=(reference.workload.parent,), devices=reference.devices)


class _Climb:
    """One candidate's way up."""

    def __init__(
        self, candidate: Path, source: str, workload: Path, options: Options, ladder: Ladder, cache: Path | None
    ) -> None:
        self.candidate, self.source, self.workload = candidate, source, workload
        self.options, self.ladder, self.cache = options, ladder, cache
        self.suspect: Finding | None = None

    def verdict(self, require_sandbox: Literal["none", "subprocess", "bubblewrap"]) -> Verdict:
        ended = self._parse() or self._api()
        if ended or Stage.IMPORT not in self.options.stages:
            return ended or self.ladder.done()
        isolation = best_isolation(require_sandbox, python=self.options.python)
        cache = self.cache or references.default_cache()
        reference = references.describe(self.workload, python=self.options.python, cache=cache)
        self.ladder.extra |= {"isolation": isolation.description, "versions": reference.versions}
        tracing, judging = places(reference, isolation, python=self.options.python, limits=self.options.limits)
        with folder_for(tracing) as traced, folder_for(judging) as judged:
            return (
                self._trace(traced, reference, isolation)
                or self._hand_over(traced, judged)
                or self._judge(judged, reference, isolation)
            )

    # --- without a process ---

    def _parse(self) -> Verdict | None:
        try:
            ast.parse(self.source)
        except SyntaxError as error:
            return self._fail(Stage.PARSE, FailureKind.SYNTAX, f"SyntaxError: {error.msg}", line=error.lineno)
        except (ValueError, RecursionError, MemoryError) as error:
            return self._fail(Stage.PARSE, FailureKind.SYNTAX, f"{type(error).__name__}: {error}")
        self.ladder.ok(Stage.PARSE)
        return None

    def _api(self) -> Verdict | None:
        """Hold names and keywords to the installed JAX; whether a finding ends the ladder is for tracing to say."""
        if Stage.API not in self.options.stages:
            return None
        cache = self.cache or references.default_cache()
        table = load_table(self.options.python, folder=cache)
        findings = check_source(self.source, table=table, filename=self.candidate.name)
        certain = [f for f in findings if not f.guarded and not f.conditional]
        self.suspect = certain[0] if certain else None
        self.ladder.notes.extend(f"api: {f}" for f in findings if f is not self.suspect)
        if self.suspect is None or Stage.IMPORT in self.options.stages:
            self.ladder.ok(Stage.API)
            return None
        return self._fail(Stage.API, self.suspect.kind, self._finding_text(self.suspect), line=self.suspect.line)

    @staticmethod
    def _finding_text(finding: Finding) -> str:
        return f"{finding.message}; {finding.suggestion}" if finding.suggestion else finding.message

    # --- the candidate's process ---

    def _trace(self, folder: Path, reference: Reference, isolation: Isolation) -> Verdict | None:
        place = folder / "candidate.py"
        shutil.copyfile(self.candidate, place)
        facts = reference.facts
        request = {
            "candidate": str(place),
            "targets": {name: self._device(name) for name in self.options.targets},
            "sizes": facts["sizes"],
            "inputs": {side: facts[side]["inputs"] for side in ("config", "check")},
            "mesh": reference.mesh,
            "specs": facts["specs"],
            "lower": Stage.LOWER in self.options.stages,
        }
        result = run_process(
            "verify_trace.py",
            request,
            folder,
            python=self.options.python,
            isolation=isolation,
            limits=replace(self.options.limits, cpu_s=self.options.stage_limits.trace_cpu_s),
            devices=1,
        )
        return self._read_trace(result, reference)

    def _device(self, name: str) -> list[Any]:
        target = chips.get(name)
        return [target.device_kind, target.device_cores]

    def _read_trace(self, result: Result, reference: Reference) -> Verdict | None:
        """Return the verdict of a candidate that failed in its own process; its report is a claim, read as such."""
        report = TraceReport.of(result.report)
        stage = report.stage
        for name, cpu_s in report.seconds.items():
            self.ladder.spent(name, cpu_s)
        if result.run.ended is not Ended.EXITED or (not report.finished and not report.error):
            return self._ended(result.run, stage)
        if report.error:
            return self._raised(report.error, stage)
        if not report.programs:
            return self._fail(Stage.TRACE, FailureKind.CHEATING, "its process claims to be done and left no program")
        if self.suspect is not None:
            self.ladder.notes.append(f"api: {self.suspect} (it traces all the same)")
        self.ladder.ok(Stage.API, Stage.IMPORT)
        expected = reference.facts["config"]
        if report.outputs != expected["outputs"] or report.structure != expected["structure"]:
            message = _wrong_type(report, expected)
            return self._fail(Stage.TRACE, FailureKind.WRONG_TYPE, message)
        self.report = report
        self.ladder.ok(Stage.TRACE)
        return None

    def _raised(self, error: Error, stage: Stage) -> Verdict:
        if error.type == "Unsupported":
            self.ladder.ok(Stage.API, Stage.IMPORT)
            return self.ladder.undecided(Stage.TRACE, f"the program cannot be carried to the judge: {error.message}")
        kind = classify(error.type, error.message, stage=stage)
        if self.suspect is not None and stage in (Stage.IMPORT, Stage.TRACE):
            self.ladder.passed.remove(Stage.API)
            text = self._finding_text(self.suspect)
            return self._fail(Stage.API, self.suspect.kind, text, line=self.suspect.line)
        if stage in (Stage.TRACE, Stage.LOWER):
            self.ladder.ok(Stage.API, Stage.IMPORT)
        if stage is Stage.LOWER:
            self.ladder.ok(Stage.TRACE)
        return self._fail(stage, kind, error.text, line=error.line)

    def _ended(self, run: Run, stage: Stage) -> Verdict:
        """Return the verdict of a process that left no answer."""
        kind = {
            Ended.CPU: FailureKind.TIMEOUT,
            Ended.WALL: FailureKind.TIMEOUT,
            Ended.IDLE: FailureKind.DEADLOCK,
        }.get(run.ended, FailureKind.CRASH)
        message = run.reason or f"the process ended by itself during {stage} (status {run.status})"
        if run.ended is Ended.SIGNAL:
            message = f"the process was ended by signal {run.status} during {stage}"
        for below in (Stage.IMPORT, Stage.TRACE, Stage.LOWER):
            if below is stage:
                break
            self.ladder.ok(below)
        return self._fail(stage, kind, message)

    # --- the judge's process ---

    def _hand_over(self, traced: Path, judged: Path) -> Verdict | None:
        """Copy the programs to the judge; what is not there, or not as claimed, is the candidate's doing."""
        names = sorted({*self.report.programs.values(), *([self.report.check] if self.report.check else [])})
        try:
            if set(self.report.programs) != set(self.options.targets):
                raise RagctxError("the candidate's process left no program for some target")
            for name in names:
                for suffix in ("json", "bin"):
                    copy_artefact(traced, f"{name}.{suffix}", judged, MOST_PROGRAM_BYTES)
        except RagctxError as error:
            return self._fail(Stage.TRACE, FailureKind.CHEATING, str(error))
        return None

    def _judge(self, folder: Path, reference: Reference, isolation: Isolation) -> Verdict:
        stage_limits = self.options.stage_limits
        cpu_s = {
            "trace": stage_limits.lower_cpu_s,
            "lower": stage_limits.lower_cpu_s,
            "compile": stage_limits.compile_cpu_s,
            "numerics": stage_limits.numerics_cpu_s,
            "integrity": stage_limits.integrity_cpu_s,
        }
        count = len(self.options.targets)
        whole = cpu_s["trace"] + count * (cpu_s["lower"] + cpu_s["compile"]) + cpu_s["numerics"] + cpu_s["integrity"]
        facts = reference.facts
        workload = reference.workload
        request = {
            "workload": str(workload),
            "overrides": facts["overrides"],
            "targets": {name: self._target(name) for name in self.options.targets},
            "programs": {name: self.report.programs[name] for name in self.options.targets},
            "check": self.report.check,
            "expected": {side: facts[side] for side in ("config", "check")},
            "seeds": list(self.options.seeds),
            "mesh": reference.mesh,
            "flat_specs": facts["flat_specs"],
            "cpu_s": cpu_s,
            "stages": list(self.options.stages),
            "min_pallas_share": self.options.min_pallas_share,
            "config_cpu_s": MOST_CONFIG_CPU_S,
        }
        result = run_process(
            "verify_judge.py",
            request,
            folder,
            python=self.options.python,
            isolation=isolation,
            limits=replace(self.options.limits, cpu_s=whole),
            readable=[workload.parent],
            devices=reference.devices,
        )
        return self._read_judgement(result)

    def _target(self, name: str) -> dict[str, Any]:
        target = chips.get(name)
        return {
            "topology": target.topology,
            "device": target.device_kind,
            "cores": target.device_cores,
            "hbm_bytes": target.device_hbm_bytes,
        }

    def _read_judgement(self, result: Result) -> Verdict:
        report, ladder = result.report, self.ladder
        reached = report.get("stage", "start")
        ladder.notes.extend(report.get("notes", ()))
        ladder.extra |= {
            "seeds": tuple(report.get("seeds", ())),
            "mismatch": tuple(report.get("mismatch", ())),
            "pallas_share": report.get("pallas_share"),
        }
        for name, cpu_s in report.get("seconds", {}).items():
            ladder.spent(Stage(name), cpu_s)
        if reached == "start":
            return ladder.undecided(Stage.TRACE, f"the judge did not start: {_last_line(result.run)}")
        for stage in (Stage.LOWER, Stage.COMPILE, Stage.NUMERICS, Stage.INTEGRITY):
            if reached == str(stage):
                break
            if str(stage) not in report.get("skipped", {}):
                ladder.ok(stage)
        ladder.skipped |= {Stage(name): reason for name, reason in report.get("skipped", {}).items()}
        if report.get("undecided"):
            undecided = report["undecided"]
            return ladder.undecided(Stage(undecided["stage"]), undecided["reason"])
        if report.get("failure"):
            return self._judged_failure(report["failure"])
        if result.run.ended is not Ended.EXITED or reached != "done":
            return self._judge_ended(result.run, Stage(reached), report.get("target"))
        return ladder.done()

    def _judged_failure(self, failure: Mapping[str, Any]) -> Verdict:
        stage, error = Stage(failure["stage"]), failure["error"]
        if stage is Stage.TRACE:
            self.ladder.passed.remove(Stage.TRACE)
        known = failure["kind"]
        text = error["message"] if known else f"{error['type']}: {error['message']}"
        kind = FailureKind(known) if known else classify(error["type"], error["message"], stage=stage)
        return self._fail(stage, kind, text, line=error["line"])

    def _judge_ended(self, run: Run, stage: Stage, target: str | None) -> Verdict:
        """Return the verdict of a judge that was ended: by its own clock (SIGPROF), a limit, or a crash."""
        where = f"{stage} for {target}" if target and stage in (Stage.LOWER, Stage.COMPILE) else str(stage)
        if run.ended is Ended.SIGNAL and run.status == _SIGPROF or run.ended in (Ended.CPU, Ended.WALL):
            return self._fail(stage, FailureKind.TIMEOUT, f"{where} took longer than it may")
        if run.ended is Ended.IDLE:
            kind = FailureKind.DEADLOCK if stage is Stage.NUMERICS else FailureKind.TIMEOUT
            return self._fail(stage, kind, f"{where}: {run.reason or 'nothing happened'}")
        message = f"{where}: {run.reason or _last_line(run)} ({run.ended} {run.status})"
        return self._fail(stage, FailureKind.CRASH, message)

    def _fail(self, stage: Stage, kind: FailureKind, message: str, *, line: int | None = None) -> Verdict:
        return self.ladder.failed(stage, kind, message, line=line, documents=self.options.documents)


_SIGPROF = 27
# What verify_trace.py calls failures that are no exceptions of the candidate's.
_OWN_TYPES = {"EntryPoint": FailureKind.ENTRY_POINT, "Unsafe": FailureKind.CHEATING}


def _last_line(run: Run) -> str:
    lines = [line.strip() for line in run.output.splitlines() if line.strip()]
    return lines[-1][:300] if lines else f"{run.ended} {run.status}"


def _wrong_type(report: TraceReport, expected: Mapping[str, Any]) -> str:
    """Return one line that says how the claimed result types differ."""
    wanted = expected["outputs"]
    if len(report.outputs) != len(wanted):
        return f"workload returns {len(report.outputs)} arrays, expected {len(wanted)}"
    for number, (got, want) in enumerate(zip(report.outputs, wanted, strict=True)):
        if got != want:
            return f"output {number} is {got[0]}{got[1]}, expected {want[0]}{want[1]}"
    return f"workload returns {report.structure}, expected {expected['structure']}"
