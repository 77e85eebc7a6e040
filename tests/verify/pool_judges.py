"""Stand-in judges for the pools' contract: what they do follows from the candidate's first line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from ragctx.errors import RagctxError
from ragctx.failures import FailureKind
from ragctx.verify.verdict import Stage, Verdict


def judge(candidate: Path, workload: Path, **options: object) -> Verdict:
    """Return a verdict, die, wait or fail as the candidate says: `# word argument`."""
    word, *arguments = candidate.read_text().splitlines()[0].lstrip("# ").split()
    notes = [f"pid {os.getpid()}", f"cpus {sorted(os.sched_getaffinity(0))}", f"name {candidate.name}"]
    if word == "pass":
        return verdict(notes=notes)
    if word == "fail":
        return verdict(FailureKind(arguments[0]), notes)
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "die-once":
        mark = Path(arguments[0])
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGSEGV)
        return verdict(notes=notes)
    if word == "exit":
        print("going away", file=sys.stderr, flush=True)
        os._exit(7)
    if word == "wait":  # says where it is, then waits with a child below it
        child = subprocess.Popen(["sleep", "600"])
        try:
            beside = Path(f"{arguments[0]}.part")
            beside.write_text(f"{os.getpid()} {child.pid}")
            os.replace(beside, arguments[0])
            time.sleep(600)
        finally:
            child.kill()
            child.wait()
    if word == "gather":  # ends when as many are there as it is told
        Path(arguments[0], candidate.stem).touch()
        while len(list(Path(arguments[0]).iterdir())) < int(arguments[1]):
            time.sleep(0.01)
        return verdict(notes=notes)
    if word == "after":  # ends when a file is there
        while not Path(arguments[0]).exists():
            time.sleep(0.01)
        return verdict(notes=notes)
    if word == "arrive":  # leaves a mark, then ends when a file is there
        Path(arguments[0], str(os.getpid())).touch()
        while not Path(arguments[1]).exists():
            time.sleep(0.01)
        return verdict(notes=notes)
    if word == "bad-input":
        raise RagctxError("the workload does not trace", where=str(workload), remedy="mend it")
    if word == "bug":
        raise KeyError("a mistake of ours")
    if word == "print":
        print('{"ready": true}\n{"verdict": {}}', flush=True)
        os.system("echo from below")
        return verdict(notes=notes)
    if word == "import":  # what the workload finds beside itself
        sys.path.insert(0, str(workload.parent))
        import pool_neighbour  # type: ignore[import-not-found]

        return verdict(notes=[*notes, f"value {pool_neighbour.VALUE}"])
    if word == "options":
        return verdict(notes=[f"{name}={options[name]!r}" for name in sorted(options)])
    raise AssertionError(word)


def verdict(kind: FailureKind | None = None, notes: list[str] | None = None) -> Verdict:
    """Return a verdict of a kind."""
    passed = kind is None
    return Verdict(Stage.DONE if passed else Stage.NUMERICS, kind, passed, (), notes=tuple(notes or ()))
