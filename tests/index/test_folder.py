"""What a reader meets when a writer, a disk or a file fails."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ragctx.corpus import Document, Kind
from ragctx.errors import RagctxError
from ragctx.index import Index, build_index, open_index
from ragctx.index.folder import manifest_digest

Build = Callable[..., Index]

OTHER = (Document("api/other", Kind.API, "other", "# other\n\nAnother corpus.\n"),)

# Builds a corpus of one document into a folder; STEP ends or fails the process when a file is brought to the disk.
BUILDER = """
import os, signal, sys
from pathlib import Path
from ragctx.corpus import Document, Kind
from ragctx.index import build_index
out, name, step = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
calls = [0]
def fsync(handle, real=os.fsync):
    calls[0] += 1
    if calls[0] == step:
        os.kill(os.getpid(), signal.SIGKILL)
    real(handle)
os.fsync = fsync
for _ in range(int(sys.argv[4])):
    build_index([Document(f"api/{name}", Kind.API, name, f"# {name}\\n\\nwords of {name}\\n")], out)
"""


def builder(out: Path, name: str, *, kill_at: int = 0, times: int = 1) -> list[str]:
    return [sys.executable, "-c", BUILDER, str(out), name, str(kill_at), str(times)]


def entries(out: Path) -> set[str]:
    return {path.name for path in out.iterdir()} - {".lock"}


def test_a_new_index_takes_the_place_of_the_old(build: Build, tmp_path: Path) -> None:
    old = build()
    new = build(OTHER)
    assert entries(tmp_path / "out") == {"current", new.digest}
    assert open_index(tmp_path / "out").digest == new.digest != old.digest
    # A reader that has the old one open goes on reading it.
    assert old.search("pl.BlockSpec", k=1)[0].id == "api/pl.BlockSpec#000"
    assert old.document("hardware/v6e").title == "TPU v6e"
    assert next(iter(old.documents())).id == "api/pl.BlockSpec"


def test_building_the_same_again_repairs_it(build: Build, tmp_path: Path) -> None:
    first = build()
    (first.path / "chunks.jsonl").write_bytes(b"")
    second = build()
    assert second.digest == first.digest
    assert second.chunk(0).document == "api/pl.BlockSpec"
    assert entries(tmp_path / "out") == {"current", first.digest}


def test_other_files_in_the_folder_stay(tmp_path: Path, documents: tuple[Document, ...]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / ("0" * 32)).mkdir()
    build_index(documents, tmp_path)
    build_index(OTHER, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / ("0" * 32)).is_dir(), "no index, so not ours to remove"


def test_a_full_disk_leaves_the_old_index(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file in turn finds no space, the manifest and `current` too."""
    old = build()
    before = entries(tmp_path / "out")
    failures = 0
    for step in range(1, 100):
        calls = 0

        def fsync(handle: int, step: int = step) -> None:
            nonlocal calls
            calls += 1
            if calls == step:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fsync", fsync)
        try:
            new = build(OTHER)
        except RagctxError as error:
            failures += 1
            assert "No space left on device" in str(error) and str(tmp_path) in str(error)
            assert entries(tmp_path / "out") == before
            assert open_index(tmp_path / "out").digest == old.digest
        else:
            break
    assert failures == len(list(new.path.iterdir())) + 1, "every file of the folder, and `current`"


def test_a_limit_on_file_size_leaves_the_old_index(tmp_path: Path, build: Build) -> None:
    """A real failing write, not a simulated one: files may grow to 600 bytes, the manifest needs more."""
    old = build()
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))\n" + BUILDER
    command = [sys.executable, "-c", code, str(tmp_path / "out"), "big", "0", "1"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1
    assert "RagctxError" in result.stderr and "File too large" in result.stderr
    assert open_index(tmp_path / "out").digest == old.digest
    assert entries(tmp_path / "out") == {"current", old.digest}


@pytest.mark.parametrize("step", [1, 9, 20, 26])
def test_a_killed_builder_leaves_the_old_index_and_the_next_one_cleans_up(
    build: Build, tmp_path: Path, step: int
) -> None:
    old = build()
    out = tmp_path / "out"
    result = subprocess.run(builder(out, "killed", kill_at=step), capture_output=True)
    assert result.returncode == -signal.SIGKILL
    assert open_index(out).digest == old.digest
    assert entries(out) > {"current", old.digest}
    new = build(OTHER)
    assert entries(out) == {"current", new.digest}


def test_what_a_living_builder_writes_is_left_alone(tmp_path: Path, build: Build) -> None:
    from ragctx.index.folder import FolderWriter

    out = tmp_path / "out"
    with FolderWriter(out) as writer:
        writer.blob("a.bin", b"a")
        build(OTHER)
        assert [path.read_bytes() for path in out.glob(".building-*/a.bin")] == [b"a"]
    assert not list(out.glob(".building-*"))


def test_builders_at_once_all_succeed_and_readers_never_fail(tmp_path: Path) -> None:
    out = tmp_path / "out"
    subprocess.run(builder(out, "zero"), check=True)
    running = [subprocess.Popen(builder(out, name, times=6)) for name in ("one", "two", "three")]
    titles = set()
    while any(process.poll() is None for process in running):
        index = open_index(out)
        titles.add(index.document_at(0).title)
        assert [hit.index for hit in index.search("words", k=5)] == [0]
    assert [process.returncode for process in running] == [0, 0, 0]
    last = open_index(out)
    last.check()
    assert last.document_at(0).title in {"one", "two", "three"}
    assert titles <= {"zero", "one", "two", "three"}
    assert entries(out) == {"current", last.digest}


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path, documents: tuple[Document, ...]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RagctxError, match=r"cannot write the index: .*; check the folder") as caught:
        build_index(documents, tmp_path / "file" / "out")
    assert str(tmp_path / "file" / "out") in str(caught.value)


def test_no_index_is_an_error_with_the_command(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(RagctxError) as caught:
            open_index(path)
        assert str(caught.value) == f"{path}: there is no index here; run: ragctx build-index --out {path}"


def refused(index: Index, problem: str) -> None:
    """Opening fails by the parent folder and by the digest folder, with the path and the command."""
    out = index.path.parent
    for path in (out, index.path):
        with pytest.raises(RagctxError, match=problem) as caught:
            open_index(path)
        assert str(caught.value).startswith(f"{index.path}: ")
        assert str(caught.value).endswith(f"; run: ragctx build-index --out {out}")


FILES = [
    "chunk_documents.npy", "chunk_ids.bin", "chunk_ids_offsets.npy", "chunk_kinds.npy", "chunk_lengths.npy",
    "chunks.jsonl", "chunks_offsets.npy", "document_chunks.npy", "document_ids.bin", "document_ids_offsets.npy",
    "documents.jsonl", "documents_offsets.npy", "edges_source.npy", "edges_target.npy", "edges_weight.npy",
    "manifest.json", "postings_chunks.npy", "postings_frequencies.npy", "postings_scores.npy", "postings_starts.npy",
    "synonyms.json", "token_counts.npy", "token_keys.npy", "vocabulary.bin", "vocabulary_keys.npy",
    "vocabulary_offsets.npy",
]  # fmt: skip


def test_the_list_of_files_is_complete(small: Index) -> None:
    assert sorted(path.name for path in small.path.iterdir()) == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_refused(copied: Index, name: str) -> None:
    index = copied
    content = (index.path / name).read_bytes()
    for length in (len(content) - 1, len(content) // 2, 0):
        if name == "manifest.json" and length == len(content) - 1:
            continue  # Only its last line break.
        (index.path / name).write_bytes(content[:length])
        refused(index, "the index is damaged: ")


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_refused(copied: Index, name: str) -> None:
    index = copied
    (index.path / name).unlink()
    refused(
        index, f"the index is damaged: {name} is missing" if name != "manifest.json" else "is missing|no index here"
    )


def rewrite_manifest(index: Index, **changes: object) -> None:
    manifest = json.loads((index.path / "manifest.json").read_text())
    content = {key: value for key, value in manifest.items() if key != "digest"} | changes
    text = json.dumps({**content, "digest": manifest_digest(content)})
    (index.path / "manifest.json").write_text(text)


def replace_file(index: Index, name: str, content: bytes) -> None:
    """Replace a file so that the manifest agrees with it."""
    (index.path / name).write_bytes(content)
    files = json.loads((index.path / "manifest.json").read_text())["files"]
    files[name] = {"bytes": len(content), "digest": hashlib.blake2b(content, digest_size=16).hexdigest()}
    rewrite_manifest(index, files=files)


def as_npy(values: np.ndarray) -> bytes:
    import io

    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=False)
    return stream.getvalue()


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".npy")])
def test_an_array_of_another_length_or_dtype_is_refused(copied: Index, name: str) -> None:
    index = copied
    values = np.load(index.path / name)
    for wrong in (values[:-1], values.astype(np.complex64), np.concatenate([values, values[-1:]])):
        replace_file(index, name, as_npy(wrong))
        refused(index, f"the index is damaged: {name} is ")
    replace_file(index, name, b"no array")
    refused(index, f"the index is damaged: {name} is not an array")


@pytest.mark.parametrize("name", ["chunk_ids", "document_ids", "vocabulary", "chunks", "documents", "postings_starts"])
def test_offsets_that_do_not_fit_are_refused(copied: Index, name: str) -> None:
    index = copied
    offsets = f"{name}.npy" if name == "postings_starts" else f"{name}_offsets.npy"
    values = np.load(index.path / offsets)
    values[-1] += 1
    replace_file(index, offsets, as_npy(values))
    refused(index, "the index is damaged: .*fit")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '"x"', '{"format": 1}', "[" * 100_000, "\udcff"])
def test_a_manifest_that_is_none_is_refused(copied: Index, text: str) -> None:
    index = copied
    (index.path / "manifest.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(index, "the index is damaged: manifest.json is not ")


def test_a_changed_manifest_is_refused(copied: Index) -> None:
    index = copied
    path = index.path / "manifest.json"
    path.write_text(path.read_text().replace('"chunks": 4', '"chunks": 5'))
    refused(index, "manifest.json is not what was written")


def test_counts_that_are_missing_are_refused(copied: Index) -> None:
    index = copied
    rewrite_manifest(index, counts={"chunks": 4})
    refused(index, "the manifest's counts are missing")


def test_another_format_is_refused(copied: Index) -> None:
    index = copied
    rewrite_manifest(index, format=99)
    refused(index, "the index has format 99, this ragctx reads format 1")


def test_an_index_of_another_version_is_refused(copied: Index) -> None:
    index = copied
    rewrite_manifest(index, ragctx="0.0.1")
    refused(index, "the index was written by ragctx 0.0.1, this is ")


def test_other_settings_are_refused(copied: Index) -> None:
    index = copied
    rewrite_manifest(index, tokenizer={"name": "code", "version": 0})
    refused(index, "the index was written with other tokenizer settings than this installation's")


@pytest.mark.parametrize("content", [b"", b"x", b"\xff\xff", b"../secrets\n", b"/etc\n", b"a" * 31])
def test_a_current_file_that_names_no_index_is_refused(copied: Index, content: bytes) -> None:
    out = copied.path.parent
    (out / "current").write_bytes(content)
    with pytest.raises(RagctxError, match="the index is damaged: the file 'current'") as caught:
        open_index(out)
    assert str(caught.value).endswith(f"run: ragctx build-index --out {out}")


def test_a_current_folder_that_is_gone_is_an_error(copied: Index) -> None:
    index = copied
    shutil.rmtree(index.path)
    with pytest.raises(RagctxError, match=r"manifest.json is missing; run: ragctx build-index --out"):
        open_index(index.path.parent)


def overwrite(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert content.count(old) >= 1 and len(old) == len(new)
    path.write_bytes(content.replace(old, new))


def test_damage_that_keeps_the_size_is_an_error_when_it_is_read(copied: Index) -> None:
    index = copied
    overwrite(index.path / "chunks.jsonl", b'{"document":', b'{"document"?')
    overwrite(index.path / "documents.jsonl", b'"kind":"api"', b'"kind":"xpi"')
    overwrite(index.path / "synonyms.json", b"[[", b"[?")
    opened = open_index(index.path.parent)
    for read in (lambda: opened.chunk(0), lambda: opened.document("api/pl.BlockSpec"), lambda: opened.search("x", k=1)):
        with pytest.raises(RagctxError, match="the index is damaged: .* is not readable; run: ragctx build-index"):
            read()
    with pytest.raises(RagctxError, match="the index is damaged: chunks.jsonl is not what was written"):
        opened.check()


@pytest.mark.parametrize("chunk", [-1, 4, 2**30])
def test_postings_of_chunks_that_there_are_not_are_an_error(copied: Index, chunk: int) -> None:
    index = copied
    path = index.path / "postings_chunks.npy"
    path.write_bytes(as_npy(np.full_like(np.load(path), chunk)))
    opened = open_index(index.path.parent)
    with pytest.raises(RagctxError, match="the index is damaged: its postings do not fit; run: ragctx build-index"):
        opened.search({"block": 1}, k=1)


def test_check_passes_on_a_sound_index(small: Index) -> None:
    small.check()
