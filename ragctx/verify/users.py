"""Users of their own for sandboxed runs, where ragctx runs as root.

Limits on processes do not bind root, and only a user of its own makes everything a run started findable. Nothing is
written to the system: a user id needs no entry anywhere.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

from ragctx.errors import RagctxError

# Unused by convention (systemd's table of user ids); in a container that maps few ids, those for transient services.
RANGES = (range(1_879_048_192, 1_879_048_192 + 65_536), range(61_184, 65_520))


def is_root() -> bool:
    """Return whether this process runs as root."""
    return os.geteuid() == 0


@contextlib.contextmanager
def lease() -> Iterator[int]:
    """Give a user id (and group id) that nobody on this machine uses, until the block is left.

    Raises:
        RagctxError: If there is none.
    """
    busy, mapped = _busy(), _mapped()
    for ids in RANGES:
        start = secrets.randbelow(len(ids))
        for uid in itertools.chain(ids[start:], ids[:start]):
            if uid in busy or not any(uid in part for part in mapped):
                continue
            # An abstract socket is a lock that ends with its process and leaves no file.
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as lock:
                try:
                    lock.bind(f"\0ragctx-user-{uid}")
                except OSError:
                    continue
                yield uid
                return
    raise RagctxError(
        "no free user id for a sandboxed run", where="/proc/self/uid_map", remedy="run ragctx as an ordinary user"
    )


def _busy() -> set[int]:
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.add(os.stat(f"/proc/{name}").st_uid)
        except OSError:
            continue
    return found


def _mapped() -> list[range]:
    """Return the user ids that exist in this user namespace."""
    lines = Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()
    return [range(int(first), int(first) + int(count)) for first, _, count in map(str.split, lines)]
