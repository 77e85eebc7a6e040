"""The file system and namespaces of a bubblewrap sandbox, as bwrap's arguments."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

KEEPER_INSIDE = "/.keeper.py"
# Whole-system folders every program needs; where /bin and the like are links into /usr they stay links.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
# Shared-library search, time zone, and Debian's links from /usr/lib into /etc/alternatives.
ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "alternatives", "os-release", "nsswitch.conf")
# The processor and memory layout that XLA asks for.
DEVICES = "/sys/devices/system"
# All that the keeper needs as root: to become the run's user, to end its processes.
CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL")


@dataclass(frozen=True, slots=True)
class Mount:
    """A path of the machine, shown at a path of the sandbox."""

    source: str
    place: str
    writable: bool = False


def arguments(
    *, folder: Path, readable: Iterable[Path], scratch: Path, keeper: Path, uid: int | None, command: Sequence[str]
) -> list[str]:
    """Return the bwrap command line.

    Args:
        folder: The writable folder, at the same path inside.
        readable: What may be read, at the same paths inside.
        scratch: A folder on disk with `tmp` and `shm` (shown as /tmp and /dev/shm: memory-backed ones would be memory
            that counts for nobody) and `passwd` and `group`.
        keeper: The keeper's file, shown as `KEEPER_INSIDE`.
        uid: The run's own user where ragctx is root, else None.
        command: What bwrap is to start.
    """
    bwrap = shutil.which("bwrap") or "bwrap"
    line = [bwrap, "--die-with-parent", "--new-session", "--unshare-pid", "--as-pid-1"]
    line += ["--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"]
    if uid is None:
        line += ["--unshare-user"]
    else:
        line += ["--cap-drop", "ALL", *(word for name in CAPABILITIES for word in ("--cap-add", name))]
    for name in SYSTEM:
        if os.path.islink(name):
            line += ["--symlink", os.readlink(name), name]
        elif os.path.isdir(name):
            line += ["--ro-bind", name, name]
    # Folders that bwrap makes on its own for a mount are 0700: the run's user could not pass them.
    line += ["--dir", "/etc", "--dir", "/sys", "--dir", "/sys/devices"]
    line += ["--proc", "/proc", "--dev", "/dev", "--ro-bind-try", DEVICES, DEVICES]
    line += ["--bind", str(scratch / "tmp"), "/tmp", "--bind", str(scratch / "shm"), "/dev/shm"]
    for name in ETC:
        line += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for name in ("passwd", "group"):
        line += ["--ro-bind", str(scratch / name), f"/etc/{name}"]
    for mount in mounts(folder, readable):
        for outer in reversed(Path(mount.place).parents[:-1]):
            line += ["--dir", str(outer)]
        line += ["--bind" if mount.writable else "--ro-bind", mount.source, mount.place]
    line += ["--ro-bind", str(keeper), KEEPER_INSIDE]
    # bwrap's own tmpfs at / and /dev would be writable memory for a run that is its owner.
    line += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--", *command]
    return line


def mounts(folder: Path, readable: Iterable[Path]) -> list[Mount]:
    """Return what to mount, outer places first; a path that is a link is shown as itself and as what it names.

    A folder that is already there through an outer one is left out: mounting it again would need a writable place.
    """
    wanted = {Mount(os.path.realpath(folder), place, True) for place in _places(folder)}
    for path in readable:
        wanted |= {Mount(os.path.realpath(path), place) for place in _places(path)}
    kept: list[Mount] = [Mount(name, name) for name in SYSTEM if os.path.isdir(name) and not os.path.islink(name)]
    system = len(kept)
    for mount in sorted(wanted, key=lambda m: (m.place.count("/"), m.place, not m.writable)):
        if mount.writable or not _shown(mount, kept):
            kept.append(mount)
    return kept[system:]


def _places(path: Path) -> set[str]:
    """Return where a path must be found: as it is written and where it really is."""
    written = os.path.abspath(path)
    real = os.path.realpath(written)
    # /lib and the like are links inside as outside, so the real place is enough.
    linked = any(os.path.islink(name) and written.startswith(f"{name}/") for name in SYSTEM)
    return {real} if linked else {written, real}


def _shown(mount: Mount, kept: Sequence[Mount]) -> bool:
    for outer in reversed(kept):
        if mount.place == outer.place or mount.place.startswith(outer.place.rstrip("/") + "/"):
            if outer.writable:
                return False
            return os.path.realpath(outer.source + mount.place[len(outer.place) :]) == mount.source
    return False
