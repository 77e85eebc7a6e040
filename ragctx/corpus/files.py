"""The files of a corpus layer: found in a fixed order, never outside the layer's folder."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragctx.corpus.document import KIND_FOLDERS
from ragctx.errors import RagctxError

MAX_FILE_BYTES = 2 * 1024 * 1024

_MARKDOWN = (".md", ".markdown")
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})
_EXAMPLES = "examples"


@dataclass(frozen=True, slots=True)
class Layer:
    """A folder of documents.

    Attributes:
        name: How notes and documents call it.
        folder: Where it is.
        strict: Whether front matter is required and every unknown key an error (the shipped corpus), or anyone's plain
            Markdown is welcome.
    """

    name: str
    folder: Path
    strict: bool = False


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that may be a document.

    Attributes:
        name: Path relative to the layer's folder, with `/`, in Unicode's composed form.
        path: Where it is.
        size: Bytes.
        mtime_ns: When it was last changed, for telling whether a digest must be taken again.
    """

    name: str
    path: Path
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Listing:
    """What a layer's folder holds: files in order of their names, and a note on each entry that was left out."""

    files: tuple[FoundFile, ...]
    notes: tuple[str, ...]


def list_files(layer: Layer) -> Listing:
    """Find a layer's files: Markdown anywhere, Python in `examples/`; names that begin with a dot are left out.

    Links are followed only to files inside the folder, and never to folders (what they show is found at its own
    place), so no loop and no file from elsewhere gets in.

    Raises:
        RagctxError: If the folder is missing, not a folder, or cannot be read.
    """
    root = Path(layer.folder)
    if not root.exists():
        raise RagctxError("no such corpus folder", where=str(root), remedy="check the path")
    if not root.is_dir():
        raise RagctxError("is a file, not a corpus folder", where=str(root), remedy="name the folder it is in")
    notes: list[str] = []
    files = sorted(_walk(root, "", os.path.realpath(root), notes), key=lambda file: file.name)
    return Listing(tuple(files), tuple(notes))


def is_document(name: str) -> bool:
    """Return whether a file of this relative name is a document."""
    lower = name.lower()
    return lower.endswith(_MARKDOWN) or (
        lower.endswith(".py") and not lower.endswith(".raises.py") and name.split("/")[0] == _EXAMPLES and "/" in name
    )


def kind_folder(name: str) -> str | None:
    """Return the folder that says the file's kind, or None if it is in none."""
    top, separator, _ = name.partition("/")
    return top if separator and top in KIND_FOLDERS else None


def _walk(folder: Path, prefix: str, root: str, notes: list[str]) -> Iterator[FoundFile]:
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError as error:
        raise RagctxError(f"cannot read the folder: {error.strerror or error}", where=str(folder)) from None
    for entry in entries:
        if entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS:
            continue
        name = unicodedata.normalize("NFC", f"{prefix}{entry.name}")
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), f"{name}/", root, notes)
        elif entry.is_symlink() and os.path.isdir(entry.path):
            notes.append(f"{_shown(name)}: a link to a folder, not followed")
        elif is_document(name):
            found = _file(entry, name, root, notes)
            if found is not None:
                yield found


def _file(entry: os.DirEntry[str], name: str, root: str, notes: list[str]) -> FoundFile | None:
    if not _encodable(name):
        notes.append(f"{_shown(name)}: its name is not UTF-8, left out")
        return None
    if entry.is_symlink():
        target = os.path.realpath(entry.path)
        if os.path.commonpath((root, target)) != root:
            notes.append(f"{_shown(name)}: a link out of the folder, not followed")
            return None
    try:
        status = entry.stat()
    except OSError:
        notes.append(f"{_shown(name)}: a link to nothing, left out")
        return None
    if not stat.S_ISREG(status.st_mode):
        notes.append(f"{_shown(name)}: not an ordinary file, left out")
        return None
    return FoundFile(name, Path(entry.path), status.st_size, status.st_mtime_ns)


def _encodable(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _shown(name: str) -> str:
    """Return a file name that can be printed, whatever bytes it has."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
