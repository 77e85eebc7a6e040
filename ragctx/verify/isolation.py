"""Which sandboxes this machine offers, and what each does not protect from."""

from __future__ import annotations

import ctypes
import enum
import os
import platform
import shutil
import sys
from dataclasses import dataclass

from ragctx.verify import users


class IsolationKind(enum.StrEnum):
    """The sandboxes, best first."""

    BUBBLEWRAP = "bubblewrap"
    SUBPROCESS = "subprocess"


@dataclass(frozen=True, slots=True)
class Isolation:
    """One way to run untrusted code.

    Attributes:
        kind: Which.
        own_user: Whether every run gets a user of its own (only root can give one).
        landlock: Version of the kernel's Landlock used to limit files and signals, 0 for none.
        seccomp: Whether system calls are filtered.
    """

    kind: IsolationKind
    own_user: bool
    landlock: int
    seccomp: bool

    @property
    def description(self) -> str:
        """One line for the verdict: what it is, and what it does not protect from."""
        user = "a user of its own" if self.own_user else "the user's own account"
        if self.kind is IsolationKind.BUBBLEWRAP:
            line = f"bubblewrap: no network, own processes and /tmp, read-only system, {user}, limits"
            return line if self.seccomp else f"{line}; system calls are not filtered"
        has, lacks = [f"subprocess with limits as {user}"], []
        if self.seccomp:
            has.append("no sockets")
        else:
            lacks.append("network access")
        if self.landlock:
            has.append("reads only the system and what it is given, writes only its folder (Landlock)")
        else:
            lacks += (
                ["reading files that everyone may read", "writing where everyone may write"]
                if self.own_user
                else ["reading and changing the user's files"]
            )
        if not (self.own_user or self.landlock >= 6 or self.seccomp):
            lacks.append("ending the user's other processes")
        lacks.append("seeing which processes run")
        if not self.own_user:
            lacks.append("changing the mode of the user's files")
        return f"{', '.join(has)}; does not protect from {', '.join(lacks)}"


def candidates() -> list[Isolation]:
    """Return what could be tried on this machine, best first; a trial run decides."""
    own_user, seccomp = users.is_root(), seccomp_supported()
    found = []
    if shutil.which("bwrap"):
        found.append(Isolation(IsolationKind.BUBBLEWRAP, own_user, 0, seccomp))
    found.append(Isolation(IsolationKind.SUBPROCESS, own_user, landlock_version(), seccomp))
    return found


def landlock_version() -> int:
    """Return the version of Landlock this kernel has enabled, 0 for none."""
    if sys.platform != "linux":
        return 0
    version: int = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)
    return max(0, version)


def seccomp_supported() -> bool:
    """Return whether system calls can be filtered here (the keeper has tables for two machines)."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return False
    return bool(ctypes.CDLL(None).prctl(21, 0, 0, 0, 0) >= 0)


def install_hint() -> str:
    """Return the command that installs bubblewrap here."""
    for tool, command in (
        ("apt-get", "apt-get install -y bubblewrap"),
        ("dnf", "dnf install -y bubblewrap"),
        ("apk", "apk add bubblewrap"),
        ("pacman", "pacman -S --noconfirm bubblewrap"),
        ("zypper", "zypper install -y bubblewrap"),
    ):
        if shutil.which(tool):
            return command if os.geteuid() == 0 else f"sudo {command}"
    return "install bubblewrap with the system's package manager"
