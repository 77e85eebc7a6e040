"""What a child process of verify may use, and what became of it: the seam between the sandbox and the stages."""

from __future__ import annotations

import enum
from dataclasses import dataclass

GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one sandboxed run; every one is enforced from outside the child.

    Attributes:
        cpu_s: CPU-seconds of the child and all it starts.
        wall_s: Hard cap in wall-clock seconds.
        idle_cpu_s: A child that uses less CPU than this...
        idle_wall_s: ...within this much wall time is taken for deadlocked.
        memory_bytes: Resident memory of it and all it starts; one process gets a quarter (at least 1 GiB) more than
            this as address space, so that growth is seen and named rather than refused.
        file_bytes: Size of any file it writes, and of all it has in its folder and its /tmp.
        processes: Processes and threads.
    """

    cpu_s: float = 200.0
    wall_s: float = 900.0
    idle_cpu_s: float = 0.2
    idle_wall_s: float = 30.0
    memory_bytes: int = 12 * GIB
    file_bytes: int = 4 * GIB
    processes: int = 256


class Ended(enum.StrEnum):
    """Why a run ended."""

    EXITED = "exited"
    SIGNAL = "signal"
    CPU = "cpu"
    WALL = "wall"
    IDLE = "idle"
    MEMORY = "memory"
    DISK = "disk"


@dataclass(frozen=True, slots=True)
class Run:
    """What became of one sandboxed run.

    Attributes:
        ended: Why it ended.
        status: Exit status, or the number of the signal that ended it.
        cpu_s: CPU-seconds used by it and what it started.
        wall_s: Wall-clock seconds.
        output: The end of what it printed, at most 20,000 characters; never believed, only shown.
        reason: For a limit, one line that says which and how far it got, or "".
        memory_bytes: Most resident memory seen at one time (looked at every 0.1 s).
    """

    ended: Ended
    status: int
    cpu_s: float
    wall_s: float
    output: str
    reason: str = ""
    memory_bytes: int = 0
