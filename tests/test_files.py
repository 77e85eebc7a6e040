import errno
import os
from pathlib import Path

import pytest

from ragctx.errors import RagctxError
from ragctx.files import read_text, write_atomic


def test_reads_utf8_with_normalised_line_ends_and_no_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert read_text(path) == "one\ntwo\nthree\n"


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RagctxError, match=r"no such workload; check the path"):
        read_text(tmp_path / "none.py", what="workload")


def test_folder_instead_of_file(tmp_path: Path) -> None:
    with pytest.raises(RagctxError, match="is a folder, not a workload; name a file in it"):
        read_text(tmp_path, what="workload")


def test_not_utf8_names_the_line_and_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "latin.md"
    path.write_bytes(b"one\ncaf\xe9\n")
    with pytest.raises(RagctxError) as caught:
        read_text(path)
    assert str(caught.value) == f"{path}:2: the file is not UTF-8 (byte 0xe9); save it as UTF-8"


def test_write_replaces_whole_file_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")
    write_atomic(path, "new")
    assert path.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.parametrize("name", [".", "..", "/"])
def test_a_folder_is_no_file_to_write(name: str) -> None:
    with pytest.raises(RagctxError, match="is a folder, not a file to write; name a file in it"):
        write_atomic(Path(name), "new")


def test_full_disk_keeps_the_old_file_and_leaves_nothing_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RagctxError, match="No space left on device"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]


def test_a_link_is_followed_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomic(tmp_path / "link", "one")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "one"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomic(tmp_path / "pipe", "two")
    assert os.read(reader, 10) == b"two"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
