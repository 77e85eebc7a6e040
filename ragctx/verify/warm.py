"""What `verify_candidate` needs before it sees a candidate, done ahead by a worker that waits for its job."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from ragctx.verify.interpreter import interpreter_paths
from ragctx.verify.jobs import JobOptions
from ragctx.verify.prestart import discard, start
from ragctx.verify.reference import default_cache, describe
from ragctx.verify.run import places
from ragctx.verify.sandbox import best_isolation
from ragctx.verify.symbols import load_table


def prepare(workload: Path, options: JobOptions) -> Callable[[], None]:
    """Do what is the same for all candidates of a workload; return what ends the processes that were not needed.

    Descriptions and tables are loaded, the sandbox is tried, and the two processes of a candidate are started: they
    import JAX and wait.

    Raises:
        RagctxError: If something is not usable; the job itself will say so again.
    """
    python = options.python or sys.executable
    interpreter_paths(python)
    isolation = best_isolation(options.require_sandbox, python=python)
    cache = options.cache or default_cache()
    load_table(python, folder=cache)
    reference = describe(workload, python=python, cache=cache)
    try:
        for place in places(reference, isolation, python=python, limits=options.limits):
            start(place)
    except BaseException:
        discard()
        raise
    return discard
