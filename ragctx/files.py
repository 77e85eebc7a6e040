"""Reading user files with one-line errors, and writing files that are never half there."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from ragctx.errors import RagctxError


def read_text(path: Path, *, what: str = "file") -> str:
    """Return a file's text as UTF-8, with line ends normalised to LF and a byte order mark dropped.

    Raises:
        RagctxError: If the file is missing, a folder, unreadable, or not UTF-8.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise RagctxError(f"no such {what}", where=str(path), remedy="check the path") from None
    except IsADirectoryError:
        raise RagctxError(f"is a folder, not a {what}", where=str(path), remedy="name a file in it") from None
    except OSError as error:
        raise RagctxError(f"cannot read the {what}: {error.strerror or error}", where=str(path)) from None
    return decode(raw, where=str(path), what=what)


def decode(raw: bytes, *, where: str, what: str = "file") -> str:
    """Decode bytes as `read_text` does.

    Raises:
        RagctxError: If the bytes are not UTF-8.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise RagctxError(
            f"the {what} is not UTF-8 (byte {raw[error.start]:#04x})",
            where=f"{where}:{line}",
            remedy="save it as UTF-8",
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a file beside its place and rename it in, so that a reader never sees half of it.

    Raises:
        RagctxError: If it cannot be written (no such folder, no permission, a full disk); nothing is left behind.
    """
    if path.name in ("", ".."):
        raise RagctxError("is a folder, not a file to write", where=str(path), remedy="name a file in it")
    data = content.encode("utf-8") if isinstance(content, str) else content
    if path.is_symlink():
        path = path.resolve()
    if path.exists() and not path.is_file() and not path.is_dir():
        # A device or a pipe (/dev/null, /dev/stdout) is written to; renaming over it would destroy it.
        try:
            path.write_bytes(data)
        except OSError as error:
            raise RagctxError(f"cannot write: {error.strerror or error}", where=str(path)) from None
        return
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(beside, "xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise RagctxError(
            f"cannot write: {error.strerror or error}",
            where=str(path),
            remedy="check the folder and the free space on its disk",
        ) from None
    finally:
        beside.unlink(missing_ok=True)
