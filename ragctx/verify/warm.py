"""What `verify_candidate` needs before it sees a candidate, done ahead by a worker that waits for its job."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from ragctx.verify.interpreter import interpreter_paths
from ragctx.verify.jobs import JobOptions
from ragctx.verify.reference import default_cache, describe
from ragctx.verify.sandbox import best_isolation
from ragctx.verify.symbols import load_table


def prepare(workload: Path, options: JobOptions) -> Callable[[], None] | None:
    """Load, try and describe what is the same for all candidates of a workload; return what undoes it, if anything.

    Raises:
        RagctxError: If something is not usable; the job itself will say so again.
    """
    python = options.python or sys.executable
    interpreter_paths(python)
    best_isolation(options.require_sandbox, python=python)
    cache = options.cache or default_cache()
    load_table(python, folder=cache)
    describe(workload, python=python, cache=cache)
    return None
