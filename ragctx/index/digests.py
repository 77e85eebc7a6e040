"""Content digests of files, taken again only where size or modification time differ from what was recorded."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ragctx.errors import RagctxError
from ragctx.files import write_atomic

# A file that changed within this time before it was looked at may change again without a new modification time:
# file systems count it in steps of up to two seconds.
_UNSETTLED_NS = 2_000_000_000
_MOST_FOLDERS = 200


class FileDigests:
    """Digests of files by folder, kept in a side file.

    Paths and times stay in the side file: what is returned depends on relative names and contents alone.

    Args:
        path: The side file; one that is missing or damaged is started anew.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folders: dict[str, dict[str, list[Any]]] = _read(path)
        self._changed = False
        self.contents_read = 0

    def files_digest(self, folder: Path, files: Iterable[Path]) -> str:
        """Return a digest over the names relative to a folder and the contents of files in it.

        Raises:
            RagctxError: If a file cannot be read.
        """
        place = os.path.realpath(folder)
        before = self._folders.get(place, {})
        after: dict[str, list[Any]] = {}
        total = hashlib.blake2b(digest_size=16)
        for path in sorted(files):
            name = path.relative_to(folder).as_posix()
            after[name] = self._entry(path, before.get(name))
            total.update(f"{name}\0{after[name][2]}\n".encode("utf-8", "surrogateescape"))
        if after != before:
            self._changed = True
        # Moved to the end, so that the folders dropped first are those not asked about for longest.
        self._folders.pop(place, None)
        self._folders[place] = after
        return total.hexdigest()

    def save(self) -> None:
        """Write the side file if anything in it changed; not being able to only costs time later."""
        if not self._changed:
            return
        kept = {place: self._folders[place] for place in list(self._folders)[-_MOST_FOLDERS:]}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self._path, json.dumps(kept))
        except (OSError, RagctxError):
            return
        self._changed = False

    def _entry(self, path: Path, known: list[Any] | None) -> list[Any]:
        """Return [size, modification time or None while unsettled, digest] of a file."""
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                return [0, None, "not a file"]
            if known is not None and known[0] == status.st_size and known[1] == status.st_mtime_ns:
                return known
            settled = time.time_ns() - status.st_mtime_ns > _UNSETTLED_NS
            self.contents_read += 1
            digest = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        except OSError as error:
            raise RagctxError(f"cannot read the file: {error.strerror or error}", where=str(path)) from None
        return [status.st_size, status.st_mtime_ns if settled else None, digest]


def _read(path: Path) -> dict[str, dict[str, list[Any]]]:
    try:
        content = json.loads(path.read_bytes())
        for files in content.values():
            for size, changed, digest in files.values():
                if type(size) is not int or not isinstance(changed, int | None) or type(digest) is not str:
                    return {}
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return {}
    return dict(content)
