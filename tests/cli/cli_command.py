"""The real command, run as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the command left: exit status (negative for a signal) and both streams."""

    status: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line of an error, which is all there is."""
        assert self.out == ""
        assert self.err.endswith("\n") and self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        return self.err.removesuffix("\n").removeprefix("ragctx: ")


@dataclass(slots=True)
class Command:
    """The real command in a process of its own, in a folder and with an environment of its own."""

    folder: Path
    environment: dict[str, str]

    def words(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "ragctx", *map(str, arguments)]

    def start(self, *arguments: str | Path, **options: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
            self.words(*arguments), cwd=self.folder, env=self.environment, **options
        )

    def __call__(self, *arguments: str | Path, stdin: bytes | str = b"", **variables: str) -> Outcome:
        done = subprocess.run(
            self.words(*arguments),
            cwd=self.folder,
            env={**self.environment, **variables},
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def shell(self, line: str, **variables: str) -> Outcome:
        """Run a line of sh in which `ragctx` is the command."""
        script = f'ragctx() {{ "{sys.executable}" -m ragctx "$@"; }}\n{line}\n'
        done = subprocess.run(
            ["sh", "-c", script],
            cwd=self.folder,
            env={**self.environment, **variables},
            capture_output=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        return Outcome(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
