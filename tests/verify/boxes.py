"""One isolation with an interpreter in it, for the tests that attack the sandbox."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path

import pytest

from ragctx.verify import sandbox
from ragctx.verify.interpreter import interpreter_paths
from ragctx.verify.isolation import Isolation, IsolationKind, candidates
from ragctx.verify.limits import Limits, Run
from ragctx.verify.sandbox import run_sandboxed

MIB = 1024**2
LIMITS = Limits(
    cpu_s=20, wall_s=40, idle_cpu_s=0.05, idle_wall_s=20, memory_bytes=300 * MIB, file_bytes=16 * MIB, processes=24
)
ENVIRONMENT = {"LC_ALL": "C.UTF-8"}  # set, so that Python does not add LC_CTYPE on its own
TOKEN = "ragctx-attack-token"


class Box:
    """One isolation with an interpreter that runs in it."""

    def __init__(self, isolation: Isolation, python: str, folder: Path) -> None:
        self.isolation = isolation
        self.python = python
        self.folder = folder

    @property
    def inside(self) -> bool:
        return self.isolation.kind is IsolationKind.BUBBLEWRAP

    @property
    def guards_files(self) -> bool:
        return self.inside or self.isolation.landlock > 0

    def run(self, code: str, *, limits: Limits = LIMITS, readable: tuple[Path, ...] = (), **more: object) -> Run:
        source = "import os, sys, time, signal\n" + textwrap.dedent(code)
        environment = {**ENVIRONMENT, **{k: json.dumps(v) for k, v in more.items()}}
        return run_sandboxed(
            [self.python, "-I", "-S", "-c", source, TOKEN],
            folder=self.folder,
            readable=[*interpreter_paths(self.python), *readable],
            limits=limits,
            environment=environment,
            isolation=self.isolation,
        )


def make_box(kind: IsolationKind, folder: Path) -> Box:
    found = [isolation for isolation in candidates() if isolation.kind is kind]
    if not found:
        pytest.skip(f"no {kind} on this machine: apt-get install -y bubblewrap")
    failure = None
    for python in (sys.executable, "/usr/bin/python3"):
        failure = sandbox._tried(found[0], python)
        if failure is None:
            return Box(found[0], python, folder)
    pytest.skip(f"{kind} does not work on this machine: {failure}")


def alive_with(token: str) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if token.encode() in words:
            found.append(int(name))
    return found
