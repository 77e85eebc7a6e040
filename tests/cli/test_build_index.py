from __future__ import annotations

import json
import resource
import shutil
import subprocess
from pathlib import Path

import pytest
from cli_command import Command

from ragctx.index import open_index


def write(folder: Path, **files: str | bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.md").write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def test_anyones_markdown(ragctx: Command, brine: Path) -> None:
    outcome = ragctx("build-index", "--corpus", brine, "--out", "idx")
    assert (outcome.status, outcome.err) == (0, "")
    index = open_index(ragctx.folder / "idx")
    assert outcome.out == f"7 documents in 7 chunks: idx/{index.path.name}\n"
    assert [d.id for d in index.documents() if "read" in d.id] == ["api/reference/read_level"]
    # ragctx's own cache is not for named indexes.
    assert not (Path(ragctx.environment["XDG_CACHE_HOME"]) / "ragctx").exists()


def test_json_and_what_was_left_out(ragctx: Command) -> None:
    low = write(ragctx.folder / "low", a="# A\n\nText.\n", b="---\ntitle: B\nrequires: {jax: '<0.1'}\n---\nText.\n")
    high = write(ragctx.folder / "high", a="# A again\n\nText.\n")
    outcome = ragctx("build-index", "--corpus", low, "--corpus", high, "--out", "idx", "--json")
    summary = json.loads(outcome.out)
    index = open_index(ragctx.folder / "idx")
    jax = index.manifest["versions"]["jax"]
    reason = f"requires jax <0.1, installed is {jax}"
    assert summary == {
        "path": f"idx/{index.path.name}",
        "digest": index.digest,
        "documents": 1,
        "chunks": 1,
        "versions": {"jax": jax},
        "left_out": [{"document": "api/b", "reason": reason}],
        "notes": ["api/a of layer 'low' replaced by layer 'high'"],
    }
    assert outcome.err == f"ragctx: api/a of layer 'low' replaced by layer 'high'\nragctx: left out api/b: {reason}\n"


def test_the_default_index_goes_to_the_cache_and_is_used_from_there(ragctx: Command, brine: Path) -> None:
    (ragctx.folder / "ragctx.toml").write_text(f"corpus = ['{brine}']\ncache = 'own-cache'\n")
    built = ragctx("build-index")
    place = built.out.partition(": ")[2].strip()
    assert place.startswith(f"{ragctx.folder}/own-cache/index/")
    before = {path: path.stat().st_mtime_ns for path in Path(place).iterdir()}
    assert ragctx("search", "brine").status == 0
    assert {path: path.stat().st_mtime_ns for path in Path(place).iterdir()} == before


def test_built_again_where_the_cache_is_damaged(ragctx: Command, brine: Path) -> None:
    ragctx.environment["RAGCTX_CACHE"] = str(ragctx.folder / "cache")
    place = Path(json.loads(ragctx("build-index", "--corpus", brine, "--json").out)["path"])
    (place / "chunks.jsonl").write_bytes(b"")
    outcome = ragctx("search", "brine", "--corpus", brine)
    assert (outcome.status, outcome.err) == (0, "")
    assert "api/index#000" in outcome.out


def test_a_changed_corpus_is_noticed(ragctx: Command) -> None:
    ragctx.environment["RAGCTX_CACHE"] = str(ragctx.folder / "cache")
    docs = write(ragctx.folder / "docs", a="# Brine\n\nText.\n")
    assert "api/a#000" in ragctx("search", "brine", "--corpus", docs).out
    write(docs, b="# Brine too\n\nText.\n")
    assert "api/b#000" in ragctx("search", "brine", "--corpus", docs).out


def test_no_api_and_a_module_of_ones_own(ragctx: Command, brine: Path) -> None:
    assert ragctx("build-index", "--corpus", brine, "--module", "packaging.version", "--out", "a").status == 0
    index = open_index(ragctx.folder / "a")
    assert index.document("api/version.parse").layer == "installed"
    assert (
        ragctx("build-index", "--corpus", brine, "--module", "packaging.version", "--no-api", "--out", "b").status == 0
    )
    assert open_index(ragctx.folder / "b").documents_count == 7


@pytest.mark.parametrize(
    ("prepare", "arguments", "says"),
    [
        ({}, ["--corpus", "missing"], "missing: no such corpus folder; check the path"),
        (
            {"a": "# A\n"},
            ["--corpus", "docs/a.md"],
            "docs/a.md: is a file, not a corpus folder; name the folder it is in",
        ),
        (
            {"a": "# A\n"},
            ["--corpus", "docs", "--corpus", "./docs"],
            "./docs: this corpus is named twice; name it once",
        ),
        ({}, ["--corpus", "docs"], "docs: the corpus holds no documents; name a folder with Markdown files in it"),
        ({"a": b"# A\n\nbyte \xff\n"}, ["--corpus", "docs"], "docs/a.md:3: the document is not UTF-8 (byte 0xff);"),
        ({"a": "---\ntitle: [\n---\nText.\n"}, ["--corpus", "docs"], "docs/a.md:"),
        ({"a": "---\ntitle: A\ntargets: [v9]\n---\nText.\n"}, ["--corpus", "docs"], "docs/a.md:3"),
        ({"a": "---\ntitle: A\ntriggers: ['(']\n---\nText.\n"}, ["--corpus", "docs"], "docs/a.md:3"),
        ({"a": "# A\n"}, ["--corpus", "docs", "--module", "nosuchmodule"], "nosuchmodule"),
        ({"a": "# A\n"}, ["--corpus", "docs", "--module", "packaging", "--python", "/no/python"], "/no/python: "),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    ragctx: Command, prepare: dict[str, str | bytes], arguments: list[str], says: str
) -> None:
    write(ragctx.folder / "docs", **prepare)
    outcome = ragctx("build-index", *arguments, "--out", "idx")
    assert outcome.status == 1
    assert says in outcome.error
    assert not (ragctx.folder / "idx").exists() or not list((ragctx.folder / "idx").iterdir())


def test_what_is_odd_in_a_plain_corpus_is_a_note(ragctx: Command) -> None:
    docs = write(ragctx.folder / "docs", a="---\ntitel: A\n---\nText.\n")
    write(docs / "api", a="# A\n")
    outcome = ragctx("build-index", "--corpus", docs, "--out", "idx")
    assert outcome.status == 0
    assert outcome.err.splitlines() == [
        "ragctx: layer 'docs': a.md: its id is api/a.md, since api/a.md is api/a",
        "ragctx: layer 'docs': a.md: ignored the foreign key 'titel'; did you mean 'title'",
    ]


def test_a_file_in_the_way(ragctx: Command, brine: Path) -> None:
    (ragctx.folder / "idx").write_text("mine")
    outcome = ragctx("build-index", "--corpus", brine, "--out", "idx")
    assert outcome.status == 1
    assert "idx" in outcome.error
    assert (ragctx.folder / "idx").read_text() == "mine"


def test_a_full_disk_leaves_the_index_that_was_there(ragctx: Command, brine: Path) -> None:
    assert ragctx("build-index", "--corpus", brine, "--out", "idx").status == 0
    before = {path: path.read_bytes() for path in sorted((ragctx.folder / "idx").rglob("*")) if path.is_file()}
    larger = ragctx.folder / "larger"
    shutil.copytree(brine, larger)
    write(larger, more="# More\n\n" + "\n".join(f"Line {n} of many words on tanks." for n in range(3000)))

    def limit() -> None:
        # As much as one file may hold: what a full disk does, without a disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = subprocess.run(
        ragctx.words("build-index", "--corpus", larger, "--out", "idx"),
        cwd=ragctx.folder,
        env=ragctx.environment,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ragctx: idx") and done.stderr.count("\n") == 1, done.stderr
    after = {path: path.read_bytes() for path in sorted((ragctx.folder / "idx").rglob("*")) if path.is_file()}
    assert after == before
    assert ragctx("search", "brine", "--index", "idx").status == 0
