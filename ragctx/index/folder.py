"""Index folders: written beside and renamed in, with a `current` file that names the one to read.

    OUT/current             the digest of the index to read; swapped last
    OUT/<digest>/           one index, never changed once it has its name
    OUT/.building-<hex>/    what a builder is writing; locked by it, so that what a dead builder left is told apart
    OUT/.lock               held while folders are renamed and removed

A reader maps the files of one digest folder; on POSIX it may go on reading after the folder is gone.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import mmap
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ragctx.errors import RagctxError
from ragctx.files import write_atomic

FORMAT = 1
CURRENT = "current"
MANIFEST = "manifest.json"

_BUILDING = ".building-"
_LOCK = ".lock"


def rebuild_remedy(out: Path) -> str:
    """Return the remedy for an index that cannot be read."""
    return f"run: ragctx build-index --out {out}"


def damaged(folder: Path, problem: str) -> RagctxError:
    """Return the error for a folder that holds no readable index."""
    out = folder.parent if _is_digest(folder.name) else folder
    return RagctxError(f"the index is damaged: {problem}", where=str(folder), remedy=rebuild_remedy(out))


def _is_digest(name: str) -> bool:
    return len(name) == 32 and set(name) <= set("0123456789abcdef")


class FolderWriter:
    """Writes the files of one index into a temporary folder and publishes it.

    Use as a context manager: what was not published is removed on the way out, whatever happened.

    Args:
        out: The folder that holds `current`; made if it is missing.

    Raises:
        RagctxError: If the folder cannot be written.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self._files: dict[str, dict[str, Any]] = {}
        self._temporary = out / f"{_BUILDING}{secrets.token_hex(8)}"
        self._handle = -1

    def __enter__(self) -> FolderWriter:
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            with _locked(self.out):
                self._temporary.mkdir()
                self._handle = os.open(self._temporary, os.O_RDONLY)
                _try_lock(self._handle)
        except OSError as error:
            self.__exit__()
            raise _cannot_write(self.out, error) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        shutil.rmtree(self._temporary, ignore_errors=True)

    def array(self, name: str, values: npt.NDArray[Any]) -> None:
        """Write `<name>.npy`."""
        with self._open(f"{name}.npy") as stream:
            np.lib.format.write_array(stream, np.ascontiguousarray(values), allow_pickle=False)

    def blob(self, name: str, content: bytes) -> None:
        """Write a file of bytes."""
        with self._open(name) as stream:
            stream.write(content)

    def lines(self, name: str, lines: Iterable[bytes]) -> None:
        """Write `<name>.jsonl`, a line each, and where the lines start as `<name>_offsets.npy`."""
        offsets = [0]
        with self._open(f"{name}.jsonl") as stream:
            for line in lines:
                stream.write(line + b"\n")
                offsets.append(offsets[-1] + len(line) + 1)
        self.array(f"{name}_offsets", np.array(offsets, dtype=np.int64))

    def publish(self, manifest: Mapping[str, Any]) -> Path:
        """Write the manifest, give the folder its name, make it the current one and remove those before it.

        Returns:
            The digest folder.

        Raises:
            RagctxError: If it cannot be written; the index before it stays the current one.
        """
        content = {"format": FORMAT, **manifest, "files": dict(sorted(self._files.items()))}
        digest = manifest_digest(content)
        try:
            text = json.dumps({**content, "digest": digest}, indent=1, sort_keys=True)
            write_atomic(self._temporary / MANIFEST, text + "\n")
            with _locked(self.out):
                folder = self._rename_in(digest)
                _clean(self.out, keep=digest)
        except OSError as error:
            raise _cannot_write(self.out, error) from None
        return folder

    def _rename_in(self, digest: str) -> Path:
        """Give the folder its name and swap `current`; undone if `current` cannot be written."""
        folder = self.out / digest
        known = folder.exists()
        if not _is_sound(folder):
            if known:
                _remove(folder)
            os.replace(self._temporary, folder)
        try:
            write_atomic(self.out / CURRENT, digest + "\n")
        except RagctxError:
            if not known:
                _remove(folder)
            raise
        return folder

    @contextmanager
    def _open(self, name: str) -> Iterator[_Digesting]:
        try:
            with open(self._temporary / name, "xb") as stream:
                writing = _Digesting(stream)
                yield writing
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise _cannot_write(self.out, error) from None
        self._files[name] = {"bytes": writing.size, "digest": writing.hexdigest()}


class _Digesting:
    """A stream that knows the size and the digest of what went through it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._hash = hashlib.blake2b(digest_size=16)
        self.size = 0

    def write(self, content: bytes) -> int:
        self._stream.write(content)
        self._hash.update(content)
        self.size += len(content)
        return len(content)

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


class FolderReader:
    """Maps the files of one index folder, held against its manifest.

    Args:
        folder: The digest folder.
        where: The folder to name in errors.

    Raises:
        RagctxError: If the manifest is missing, of another format, not what was written, or a file's size is not.
        FileNotFoundError: If a file is gone, such as when another builder has just replaced this index.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = _read_manifest(folder)
        self._sizes = {name: entry["bytes"] for name, entry in self.manifest["files"].items()}

    def array(self, name: str, dtype: npt.DTypeLike, length: int, width: int | None = None) -> npt.NDArray[Any]:
        """Return `<name>.npy` as a memory map of the dtype and shape that it must have."""
        path = self._sized(f"{name}.npy")
        try:
            values = np.load(path, mmap_mode="r", allow_pickle=False)
        except FileNotFoundError:
            raise
        except (OSError, ValueError, EOFError):
            raise damaged(self.folder, f"{path.name} is not an array") from None
        shape = (length,) if width is None else (length, width)
        if values.dtype != np.dtype(dtype) or values.shape != shape:
            raise damaged(self.folder, f"{path.name} is {values.dtype}{list(values.shape)}, not {dtype}{list(shape)}")
        # The base class slices faster than numpy.memmap does, and keeps the map alive.
        plain: npt.NDArray[Any] = values.view(np.ndarray)
        return plain

    def blob(self, name: str) -> bytes | mmap.mmap:
        """Return a file of bytes as a memory map."""
        path = self._sized(name)
        if self._sizes[name] == 0:
            return b""
        with open(path, "rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)

    def check(self) -> None:
        """Read every file and compare its digest with the manifest's.

        Raises:
            RagctxError: If one differs.
        """
        for name, entry in self.manifest["files"].items():
            digest = hashlib.blake2b(digest_size=16)
            with open(self._sized(name), "rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
            if digest.hexdigest() != entry["digest"]:
                raise damaged(self.folder, f"{name} is not what was written")

    def _sized(self, name: str) -> Path:
        path = self.folder / name
        if name not in self._sizes:
            raise damaged(self.folder, f"the manifest does not list {name}")
        size = path.stat().st_size
        if size != self._sizes[name]:
            raise damaged(self.folder, f"{name} has {size:,} bytes instead of {self._sizes[name]:,}")
        return path


def manifest_digest(content: Mapping[str, Any]) -> str:
    """Return the digest that names an index: of its manifest, which holds the digest of every file."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def find_folder(path: Path) -> Path:
    """Return the digest folder that a path means: the folder itself, or what `current` in it names.

    Raises:
        RagctxError: If there is no index at the path.
    """
    if (path / MANIFEST).is_file():
        return path
    try:
        name = (path / CURRENT).read_text(encoding="ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        if _is_digest(path.name) and path.is_dir():
            raise damaged(path, f"{MANIFEST} is missing") from None
        raise RagctxError("there is no index here", where=str(path), remedy=rebuild_remedy(path)) from None
    except (OSError, ValueError):
        raise damaged(path, f"the file '{CURRENT}' cannot be read") from None
    if not _is_digest(name):
        raise damaged(path, f"the file '{CURRENT}' names no index")
    return path / name


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        text = (folder / MANIFEST).read_text(encoding="utf-8")
        manifest = json.loads(text)
        found = manifest["format"]
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RagctxError(f"cannot read the index: {error.strerror or error}", where=str(folder)) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise damaged(folder, f"{MANIFEST} is not a manifest") from None
    if found != FORMAT:
        raise other_version(folder, f"has format {found}, this ragctx reads format {FORMAT}")
    content = {key: value for key, value in manifest.items() if key != "digest"}
    if manifest.get("digest") != manifest_digest(content):
        raise damaged(folder, f"{MANIFEST} is not what was written")
    return dict(manifest)


def other_version(folder: Path, difference: str) -> RagctxError:
    """Return the error for an index that another version wrote."""
    out = folder.parent if _is_digest(folder.name) else folder
    return RagctxError(f"the index {difference}", where=str(folder), remedy=rebuild_remedy(out))


def _cannot_write(out: Path, error: OSError) -> RagctxError:
    return RagctxError(
        f"cannot write the index: {error.strerror or error}",
        where=str(out),
        remedy="check the folder and the disk's free space; an index that was there before is unchanged",
    )


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    with open(out / _LOCK, "wb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX)
        except OSError:
            # Some network file systems have no locks; there a simultaneous build may have to be repeated.
            pass
        yield


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _clean(out: Path, keep: str) -> None:
    """Remove the indexes before this one, and what builders that died left behind."""
    for entry in sorted(out.iterdir()):
        if entry.name.startswith(f".{CURRENT}.") and entry.suffix == ".tmp":
            # `current` is only written under the lock that is held here, so whoever began this one is gone.
            entry.unlink(missing_ok=True)
        elif entry.name.startswith(_BUILDING):
            try:
                handle = os.open(entry, os.O_RDONLY)
            except OSError:
                continue
            try:
                if _try_lock(handle):
                    shutil.rmtree(entry, ignore_errors=True)
            finally:
                os.close(handle)
        elif _is_digest(entry.name) and entry.name != keep and (entry / MANIFEST).is_file():
            _remove(entry)


def _is_sound(folder: Path) -> bool:
    """Return whether a folder holds the whole index that its name promises; it may have been damaged since."""
    try:
        FolderReader(folder).check()
    except (RagctxError, OSError):
        return False
    return True


def _remove(folder: Path) -> None:
    """Remove a folder by way of a temporary name, so that nobody finds half of it under its own."""
    aside = folder.with_name(f"{_BUILDING}{secrets.token_hex(8)}")
    os.replace(folder, aside)
    shutil.rmtree(aside, ignore_errors=True)
