"""The process of one job: prepares itself for what it is told to expect, waits for the job, answers, ends.

Started as `python -P -m ragctx.verify.pool_worker CPU JUDGE PREPARE`, CPU a core to keep to or `-`. Input: a line of
JSON with what to expect (a job without its candidate, or null), later a line with the job. Output: `{"ready": true}`,
later the answer. When the input ends (the pool wants the worker ended, or is itself dead) or at SIGTERM, everything
below it is ended and its files are removed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

from ragctx.errors import RagctxError
from ragctx.verify.jobs import JobOptions, find_judge, place, shown
from ragctx.verify.stages import LADDER, Ladder
from ragctx.verify.verdict import Stage, Verdict

# How long cleaning up may take before the process ends all the same.
MOST_CLEANING_S = 8.0


class Ended(BaseException):
    """The pool does not want the answer any more."""


def main() -> None:
    """Serve one job."""
    cpu, judge, prepare = sys.argv[1:4]
    if cpu != "-":
        os.sched_setaffinity(0, {int(cpu)})
    # What a library prints is not our answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    status = 0
    try:
        _serve(sys.stdin.buffer, answers, judge, prepare)
    except Ended:
        status = 143
    except BrokenPipeError:
        status = 1
    sys.stderr.flush()
    os._exit(status)


def _end(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    clock = threading.Timer(MOST_CLEANING_S, os._exit, (143,))
    clock.daemon = True
    clock.start()
    raise Ended


def _serve(orders: BinaryIO, answers: BinaryIO, judge_name: str, prepare_name: str) -> None:
    folder = Path(tempfile.gettempdir())
    prepared = _prepare(orders.readline(), folder, prepare_name)
    try:
        _say(answers, {"ready": True})
        line = orders.readline()
        if not line:
            return
        threading.Thread(target=_watch, args=(orders,), daemon=True).start()
        _say(answers, _judge(json.loads(line), folder, judge_name))
    finally:
        if prepared is not None:
            prepared()


def _prepare(line: bytes, folder: Path, name: str) -> Callable[[], None] | None:
    """Do ahead what the expected job needs; return what undoes it."""
    expected = json.loads(line) if line else None
    if name == "-" or expected is None:
        return None
    try:
        workload = place(expected["workload"], folder)
        undo: Callable[[], None] | None = find_judge(name)(workload, JobOptions.from_json(expected["options"]))
    except Exception as error:  # preparing is a favour: the job itself says what is wrong
        print(f"not prepared: {error}", file=sys.stderr)
        return None
    return undo


def _judge(wire: Mapping[str, Any], folder: Path, judge_name: str) -> dict[str, Any]:
    candidate, workload = place(wire["candidate"], folder), place(wire["workload"], folder)
    try:
        judge = find_judge(judge_name)
        verdict = judge(candidate, workload, **JobOptions.from_json(wire["options"]).arguments())
    except RagctxError as error:
        where = error.where
        for name, path in (("candidate", candidate), ("workload", workload)):
            where = where and where.replace(str(path), shown(wire[name]))
        return {"error": {"problem": error.problem, "where": where, "remedy": error.remedy}}
    except Exception as error:
        traceback.print_exc()
        return {"verdict": _unjudged(error).to_json()}
    return {"verdict": verdict.to_json()}


def _unjudged(error: Exception) -> Verdict:
    """Return the verdict where ragctx itself failed: no fault of the candidate's, and nothing to try again."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    what = f"ragctx failed: {type(error).__name__}: {error}"
    note = f"a mistake in ragctx or the judge, at {Path(frame.filename).name}:{frame.lineno}"
    ladder = Ladder("", LADDER, notes=[note])
    return ladder.undecided(Stage.PARSE, " ".join(what.split()))


def _watch(orders: BinaryIO) -> None:
    """End this process when its input does."""
    while orders.readline():
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _say(answers: BinaryIO, value: Mapping[str, Any]) -> None:
    answers.write(json.dumps(value).encode() + b"\n")
    answers.flush()


if __name__ == "__main__":
    main()
