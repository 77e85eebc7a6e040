from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragctx.errors import RagctxError
from ragctx.index.digests import FileDigests

LONG_AGO_NS = 1_600_000_000_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "layer"
    for name, text in (("a.md", "one"), ("sub/b.md", "two")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    return folder


def digest(side: Path, folder: Path) -> tuple[str, int]:
    """Return the folder's digest and how many files were read for it."""
    digests = FileDigests(side)
    result = digests.files_digest(folder, folder.rglob("*.md"))
    digests.save()
    return result, digests.contents_read


def test_contents_are_read_once(tmp_path: Path, folder: Path) -> None:
    first, read = digest(tmp_path / "side", folder)
    assert read == 2
    assert digest(tmp_path / "side", folder) == (first, 0)


def test_only_what_differs_is_read_again(tmp_path: Path, folder: Path) -> None:
    first, _ = digest(tmp_path / "side", folder)
    (folder / "a.md").write_text("changed")
    os.utime(folder / "a.md", ns=(LONG_AGO_NS, LONG_AGO_NS))
    second, read = digest(tmp_path / "side", folder)
    assert second != first and read == 1
    os.utime(folder / "a.md", ns=(LONG_AGO_NS + 1, LONG_AGO_NS + 1))
    assert digest(tmp_path / "side", folder) == (second, 1)


def test_a_file_that_changed_just_now_is_not_trusted(tmp_path: Path, folder: Path) -> None:
    """Its next change might leave size and modification time as they are."""
    (folder / "a.md").write_text("two")
    first, _ = digest(tmp_path / "side", folder)
    status = (folder / "a.md").stat()
    (folder / "a.md").write_text("six")
    os.utime(folder / "a.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    second, read = digest(tmp_path / "side", folder)
    assert second != first and read == 1


def test_names_and_contents_make_the_digest_not_places_and_times(tmp_path: Path, folder: Path) -> None:
    first, _ = digest(tmp_path / "side", folder)
    moved = folder.rename(tmp_path / "elsewhere")
    os.utime(moved / "a.md", ns=(LONG_AGO_NS + 10, LONG_AGO_NS + 10))
    assert digest(tmp_path / "side", moved) == (first, 2)
    (moved / "a.md").rename(moved / "c.md")
    assert digest(tmp_path / "side", moved)[0] != first
    (moved / "c.md").unlink()
    assert digest(tmp_path / "side", moved)[0] != first


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "3", '{"a": 1}', '{"a": {"b": 1}}', '{"a": {"b": [1, 2]}}', '{"a": {"b": ["1", 2, "3"]}}'],
)
def test_a_damaged_side_file_is_started_anew(tmp_path: Path, folder: Path, content: str) -> None:
    expected, _ = digest(tmp_path / "side", folder)
    (tmp_path / "side").write_text(content)
    assert digest(tmp_path / "side", folder) == (expected, 2)
    assert digest(tmp_path / "side", folder) == (expected, 0)


def test_a_side_file_that_cannot_be_written_only_costs_time(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "file").write_text("")
    expected, _ = digest(tmp_path / "side", folder)
    assert digest(tmp_path / "file" / "side", folder) == (expected, 2)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(RagctxError, match="gone.md: cannot read the file: No such file"):
        FileDigests(tmp_path / "side").files_digest(folder, [folder / "gone.md"])
