"""What is asked: workload files, tracing them in a child, their facts."""

from ragctx.workload.facts import ArrayFact, ArrayUse, LoopFact, ReductionFact, WorkloadFacts
from ragctx.workload.source import WorkloadSource, read_workload
from ragctx.workload.task import facts_from_task
from ragctx.workload.trace import TraceError, facts_for, facts_from_text, trace

__all__ = [
    "ArrayFact",
    "ArrayUse",
    "LoopFact",
    "ReductionFact",
    "TraceError",
    "WorkloadFacts",
    "WorkloadSource",
    "facts_for",
    "facts_from_task",
    "facts_from_text",
    "read_workload",
    "trace",
]
