"""What a tree of processes uses, read from /proc.

A tree is what hangs below one process. Sandboxes keep it whole (their first process adopts every orphan), so walking
children finds a daemon that left its session and its parent.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Looking at a file costs a few microseconds; a tree that holds more open files than this has them counted in part.
MOST_OPEN_FILES = 20_000


@dataclass(frozen=True, slots=True)
class Process:
    """One line of /proc/PID/stat.

    Attributes:
        pid: Process id.
        parent: Its parent's.
        own_ticks: CPU time of its own threads, in ticks.
        reaped_ticks: CPU time of the children it has waited for, and of theirs.
        started_ticks: When it started; with `pid` this names a process for ever.
        resident_bytes: Its resident memory, shared pages included.
        threads: How many threads it has.
    """

    pid: int
    parent: int
    own_ticks: int
    reaped_ticks: int
    started_ticks: int
    resident_bytes: int
    threads: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What the tree uses at one moment.

    Attributes:
        cpu_s: CPU-seconds so far; never decreases.
        resident_bytes: Resident memory; pages that several processes share count once in each.
        pids: Processes below the first `skip` levels.
    """

    cpu_s: float
    resident_bytes: int
    pids: tuple[int, ...]


def read_process(pid: int) -> Process | None:
    """Return a process's numbers, or None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            line = stream.read()
    except OSError:
        return None
    # The name may hold spaces and parentheses; the third field of proc(5) is the first after its last one.
    fields = line.rpartition(b")")[2].split()
    if len(fields) < 22:
        return None
    return Process(
        pid=pid,
        parent=int(fields[1]),
        own_ticks=int(fields[11]) + int(fields[12]),
        reaped_ticks=int(fields[13]) + int(fields[14]),
        started_ticks=int(fields[19]),
        resident_bytes=int(fields[21]) * PAGE_BYTES,
        threads=int(fields[17]),
    )


def all_pids() -> Iterator[int]:
    """Yield the ids of every process there is."""
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def children_of(pid: int) -> list[int]:
    """Return a process's children, of all its threads; empty if it is gone."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as stream:
                found += map(int, stream.read().split())
        except OSError:
            continue
    return found


def processes_of(uid: int) -> list[int]:
    """Return the ids of all processes of a user."""
    found = []
    for pid in all_pids():
        try:
            if os.stat(f"/proc/{pid}").st_uid == uid:
                found.append(pid)
        except OSError:
            continue
    return found


def threads_of(uid: int) -> int:
    """Return how many threads a user's processes have."""
    return sum(process.threads for process in map(read_process, processes_of(uid)) if process)


class TreeWatch:
    """Adds up what a tree of processes uses, over repeated looks.

    CPU time is the larger of two sums: what living processes and those they waited for used, and what every process
    ever seen had used when last seen. A process that nobody waits for (its parent ignores SIGCHLD) is missing in
    the first sum, one that lived between two looks in the second.

    Args:
        root: The process whose descendants are watched.
        skip: Levels at the top (the sandbox's own helpers) whose own use does not count.
    """

    def __init__(self, root: int, skip: int) -> None:
        self._root = root
        self._skip = skip
        self._walk = os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
        self._seen: dict[tuple[int, int], int] = {}
        self._gone_ticks = 0
        self._cpu_s = 0.0

    def look(self) -> Usage:
        """Return what the tree uses now."""
        reaped, resident, alive = 0, 0, {}
        for process, level in self._tree():
            reaped += process.reaped_ticks
            if level < self._skip:
                continue
            resident += process.resident_bytes
            alive[process.pid, process.started_ticks] = process.own_ticks
        self._gone_ticks += sum(ticks for key, ticks in self._seen.items() if key not in alive)
        self._seen = alive
        own = sum(alive.values())
        self._cpu_s = max(self._cpu_s, (reaped + own) / TICKS_PER_S, (self._gone_ticks + own) / TICKS_PER_S)
        return Usage(self._cpu_s, resident, tuple(pid for pid, _ in alive))

    def _tree(self) -> Iterator[tuple[Process, int]]:
        children = children_of
        if not self._walk:
            below: dict[int, list[int]] = {}
            for found in map(read_process, all_pids()):
                if found:
                    below.setdefault(found.parent, []).append(found.pid)

            def children(pid: int) -> list[int]:
                return below.get(pid, [])

        queue, seen = [(self._root, 0)], {self._root}
        while queue:
            pid, level = queue.pop()
            process = read_process(pid)
            if process is None:
                continue
            yield process, level
            for child in children(pid):
                if child not in seen:
                    seen.add(child)
                    queue.append((child, level + 1))


def proportional_bytes(pids: tuple[int, ...]) -> int | None:
    """Return the resident memory of processes with shared pages counted once, or None if it cannot be read."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as stream:
                line = next(line for line in stream if line.startswith(b"Pss:"))
        except (FileNotFoundError, ProcessLookupError, StopIteration):
            continue
        except OSError:
            return None
        total += int(line.split()[1]) * 1024
    return total


def nameless_bytes(pids: tuple[int, ...]) -> int:
    """Return the disk or memory held by files that are open in these processes but have no name any more."""
    sizes: dict[tuple[int, int], int] = {}
    looked = 0
    for pid in pids:
        try:
            descriptors = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for descriptor in descriptors:
            looked += 1
            if looked > MOST_OPEN_FILES:
                return sum(sizes.values())
            try:
                about = os.stat(f"/proc/{pid}/fd/{descriptor}")
            except OSError:
                continue
            if stat.S_ISREG(about.st_mode) and about.st_nlink == 0:
                sizes[about.st_dev, about.st_ino] = about.st_blocks * 512
    return sum(sizes.values())
