"""The one writable folder of a sandboxed run: given to the run, taken back, measured, read and removed.

What a run leaves is hostile: links that lead out, pipes that never answer, trees deeper than a path can say. Everything
here works on descriptors below the folder and follows no link.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ragctx.errors import RagctxError

DEEPEST = 64
MOST_ENTRIES = 50_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class DiskUse:
    """What is in a folder.

    Attributes:
        used_bytes: Disk blocks of its files.
        largest_bytes: Size of its largest file, holes included.
        entries: Files and folders; counting stops above `MOST_ENTRIES`.
        too_deep: Whether it nests deeper than `DEEPEST`.
    """

    used_bytes: int
    largest_bytes: int
    entries: int
    too_deep: bool


@contextlib.contextmanager
def run_folder(prefix: str = "ragctx-run-") -> Iterator[Path]:
    """Make an empty folder for sandboxed runs where a user of its own can reach it, and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        remove_tree(folder)


def disk_use(folder: int) -> DiskUse:
    """Measure an open folder without following links; it may change meanwhile.

    A folder of the caller's that was made unreadable is made readable again: nothing hides from its owner.
    """
    tally = _Tally()
    _measure(folder, 1, tally)
    return DiskUse(tally.used_bytes, tally.largest_bytes, tally.entries, tally.too_deep)


@dataclass(slots=True)
class _Tally:
    used_bytes: int = 0
    largest_bytes: int = 0
    entries: int = 0
    too_deep: bool = False


def _measure(folder: int, depth: int, tally: _Tally) -> None:
    for name, about in _entries(folder):
        tally.entries += 1
        if tally.entries > MOST_ENTRIES or tally.too_deep:
            return
        if not stat.S_ISDIR(about.st_mode):
            tally.used_bytes += about.st_blocks * 512
            tally.largest_bytes = max(tally.largest_bytes, about.st_size)
            continue
        try:
            _make_usable(folder, name, None, about)
            inner = os.open(name, _FOLDER, dir_fd=folder)
        except OSError:
            continue
        try:
            if depth == DEEPEST:
                tally.too_deep = True
            else:
                _measure(inner, depth + 1, tally)
        finally:
            os.close(inner)


@contextlib.contextmanager
def handed_over(folder: Path, uid: int | None) -> Iterator[int]:
    """Give a folder and all in it to a user, yield its descriptor, and take it back, cleaned, when the block is left.

    Afterwards everything in it is a folder or a regular file with one name, owned by the caller and readable for it:
    links, pipes, sockets, and what nests too deep are gone, and the folder itself is at its place again.

    Args:
        folder: An existing folder that is no link.
        uid: The user (and group) of the run, or None if it is the caller's own.

    Raises:
        RagctxError: If it is not such a folder.
    """
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError as error:
        raise RagctxError(
            f"not a folder to run in: {error.strerror}", where=str(folder), remedy="name an existing folder"
        ) from None
    try:
        if uid is not None:
            _give(descriptor, uid, depth=1)
        yield descriptor
    finally:
        try:
            _take_folder(descriptor, uid)
            _clean(descriptor, uid, depth=1)
            _restore_place(folder, descriptor)
        finally:
            os.close(descriptor)


def open_artefact(folder: Path, name: str, max_bytes: int) -> BinaryIO:
    """Open a file that a run left, for reading.

    Args:
        folder: The run's folder.
        name: Path of the file below it; no part of it may be a link.
        max_bytes: Largest size to accept.

    Raises:
        RagctxError: If it is missing, not a regular file, reached through a link, or larger.
    """
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts:
        raise RagctxError("an artefact's name must lie below its folder", where=name)
    place = os.open(folder, _FOLDER)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=place)
            os.close(place)
            place = inner
        # O_NONBLOCK: opening a pipe would otherwise wait for a writer for ever.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(parts[-1], flags, dir_fd=place)
    except FileNotFoundError:
        raise RagctxError("the run left no such file", where=name) from None
    except OSError as error:
        raise RagctxError(f"what the run left is not a plain file: {error.strerror}", where=name) from None
    finally:
        os.close(place)
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_size > max_bytes:
        os.close(descriptor)
        wrong = f"is larger than {max_bytes} bytes" if stat.S_ISREG(about.st_mode) else "is not a plain file"
        raise RagctxError(f"what the run left {wrong}", where=name)
    return os.fdopen(descriptor, "rb")


def read_artefact(folder: Path, name: str, max_bytes: int) -> bytes:
    """Return the bytes of a file that a run left; see `open_artefact`."""
    with open_artefact(folder, name, max_bytes) as stream:
        return stream.read(max_bytes)


def remove_tree(folder: Path) -> None:
    """Remove a folder that a run wrote in, however deep it nests; missing is fine."""
    try:
        descriptor = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return
    try:
        _empty(descriptor)
    finally:
        os.close(descriptor)
    folder.rmdir()


def _entries(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                yield entry.name, entry.stat(follow_symlinks=False)
            except OSError:
                continue


def _give(folder: int, uid: int, depth: int) -> None:
    os.fchown(folder, uid, uid)
    for name, about in list(_entries(folder)):
        if stat.S_ISDIR(about.st_mode) and depth < DEEPEST:
            _inside(folder, name, lambda inner: _give(inner, uid, depth + 1))
        elif stat.S_ISREG(about.st_mode) and about.st_nlink == 1:
            os.chown(name, uid, uid, dir_fd=folder, follow_symlinks=False)


def _inside(folder: int, name: str, act: Callable[[int], None]) -> None:
    descriptor = os.open(name, _FOLDER, dir_fd=folder)
    try:
        act(descriptor)
    finally:
        os.close(descriptor)


def _clean(folder: int, uid: int | None, depth: int) -> None:
    """Take back what is in a folder and remove what is neither a folder nor a regular file of one name."""
    for name, about in list(_entries(folder)):
        if stat.S_ISDIR(about.st_mode):
            _make_usable(folder, name, uid, about)
            if depth == DEEPEST:
                _inside(folder, name, _empty)
                os.rmdir(name, dir_fd=folder)
            else:
                _inside(folder, name, lambda inner: _clean(inner, uid, depth + 1))
        elif stat.S_ISREG(about.st_mode) and os.stat(name, dir_fd=folder, follow_symlinks=False).st_nlink == 1:
            _make_usable(folder, name, uid, about)
        else:
            os.unlink(name, dir_fd=folder)


def _make_usable(folder: int, name: str, uid: int | None, about: os.stat_result) -> None:
    """Give the caller an entry that the run owned, with a mode that lets it be read and no set-user bits."""
    needed = 0o700 if stat.S_ISDIR(about.st_mode) else 0o600
    mode = about.st_mode & 0o777 | needed
    settled = about.st_uid == os.geteuid() and stat.S_IMODE(about.st_mode) == mode
    if settled or about.st_uid not in (uid, os.geteuid()):
        return
    descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if about.st_uid != os.geteuid():
            os.chown(f"/proc/self/fd/{descriptor}", os.geteuid(), os.getegid())
        os.chmod(f"/proc/self/fd/{descriptor}", mode)
    finally:
        os.close(descriptor)


def _take_folder(folder: int, uid: int | None) -> None:
    about = os.fstat(folder)
    if uid is not None and about.st_uid == uid:
        os.fchown(folder, os.geteuid(), os.getegid())
    os.fchmod(folder, about.st_mode & 0o777 | 0o700)


def _restore_place(folder: Path, descriptor: int) -> None:
    """See that the path still names the folder; a run without its own file system view may have replaced it."""
    ours = os.fstat(descriptor)
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        folder.mkdir(mode=0o700)
        return
    if (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino):
        return
    if stat.S_ISDIR(found.st_mode):
        remove_tree(folder)
    else:
        folder.unlink()
    folder.mkdir(mode=0o700)


def _empty(folder: int) -> None:
    """Remove everything in a folder; trees are flattened on the way, so depth costs neither stack nor path length."""
    while True:
        names = list(_entries(folder))
        if not names:
            return
        for name, about in names:
            if not stat.S_ISDIR(about.st_mode):
                os.unlink(name, dir_fd=folder)
                continue
            if about.st_uid == os.geteuid():
                _make_usable(folder, name, None, about)
            inner = os.open(name, _FOLDER, dir_fd=folder)
            try:
                for below, its in list(_entries(inner)):
                    if stat.S_ISDIR(its.st_mode):
                        lifted = f"{secrets.token_hex(8)}"
                        if its.st_uid == os.geteuid():
                            _make_usable(inner, below, None, its)
                        os.rename(below, lifted, src_dir_fd=inner, dst_dir_fd=folder)
                    else:
                        os.unlink(below, dir_fd=inner)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=folder)
