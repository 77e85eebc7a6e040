from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragctx.corpus import Corpus, Document, Kind, Layer, list_files, load_corpus
from ragctx.errors import RagctxError

CARD = "---\ntitle: BlockSpec\n---\n\nText.\n"


def _write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    root.mkdir(exist_ok=True)
    return root


def _plain(root: Path, files: dict[str, str | bytes]) -> Corpus:
    return load_corpus([Layer("mine", _write(root, files))])


def _strict(root: Path, files: dict[str, str | bytes]) -> Corpus:
    return load_corpus([Layer("shipped", _write(root, files), strict=True)])


def _ids(corpus: Corpus) -> list[str]:
    return [document.id for document in corpus.documents]


def test_kinds_by_folder_and_symbols_by_slug(tmp_path: Path) -> None:
    corpus = _strict(
        tmp_path,
        {
            "hardware/v6e.md": "---\ntitle: v6e\n---\nText.",
            "api/pl.BlockSpec.md": CARD,
            "examples/sub/matmul.py": '"""---\ntitle: Matmul\ntags: [gemm]\n---\nSay.\n"""\nx = 1\n',
            "rules/tile.md": "---\ntitle: Tile\nraises: tile.raises.py\n---\nText.",
            "rules/tile.raises.py": "raise ValueError\n",
            "rules/notes.txt": "no document",
            "README.md": "no document",
        },
    )
    assert corpus.documents == (
        Document(
            "api/pl.BlockSpec",
            Kind.API,
            "BlockSpec",
            "Text.\n",
            symbols=("pl.BlockSpec",),
            layer="shipped",
            file="api/pl.BlockSpec.md",
        ),
        Document(
            "example/sub/matmul",
            Kind.EXAMPLE,
            "Matmul",
            '"""Say.\n"""\nx = 1\n',
            language="python",
            tags=("gemm",),
            layer="shipped",
            file="examples/sub/matmul.py",
        ),
        Document("hardware/v6e", Kind.HARDWARE, "v6e", "Text.\n", layer="shipped", file="hardware/v6e.md"),
        Document(
            "rule/tile", Kind.RULE, "Tile", "Text.\n", raises="tile.raises.py", layer="shipped", file="rules/tile.md"
        ),
    )
    assert corpus.notes == ()


def test_anyones_markdown_is_a_corpus(tmp_path: Path) -> None:
    corpus = _plain(
        tmp_path,
        {
            "README.md": "# The `acme` library\n\nText.\n",
            "guide/getting started.md": "Intro.\n\n```\n# no heading\n```\n\nSetting up\n==========\n",
            "guide/한국어 문서.markdown": "그냥 글.\n",
            "rules/be nice.md": "# Be nice\n",
            "pl.thing.md": "# Thing\n",
            ".git/x.md": "# hidden\n",
            "node_modules/y.md": "# dependency\n",
            "setup.py": "x = 1\n",
            "examples/run.py": '"""Runs it.\n\nMore.\n"""\n',
            "examples/old.py": "print 'two'\n",
        },
    )
    assert [(d.id, d.title, d.kind.value, d.symbols) for d in corpus.documents] == [
        ("api/README", "The acme library", "api", ()),
        ("api/guide/getting started", "Setting up", "api", ()),
        ("api/guide/한국어 문서", "한국어 문서", "api", ()),
        ("api/pl.thing", "Thing", "api", ()),
        ("example/old", "old", "example", ()),
        ("example/run", "Runs it", "example", ()),
        ("rule/be nice", "Be nice", "rule", ()),
    ]
    assert len(corpus.notes) == 1
    assert corpus.notes[0].startswith("layer 'mine': examples/old.py: Python syntax error: Missing parentheses in call")


def test_a_higher_layer_replaces_with_a_note(tmp_path: Path) -> None:
    low = Layer("shipped", _write(tmp_path / "low", {"api/pl.X.md": CARD, "api/pl.Y.md": CARD}), strict=True)
    high = Layer("project", _write(tmp_path / "high", {"api/pl.X.md": "# Ours\n"}))
    corpus = load_corpus([low, high])
    assert [(d.id, d.layer, d.title) for d in corpus.documents] == [
        ("api/pl.X", "project", "Ours"),
        ("api/pl.Y", "shipped", "BlockSpec"),
    ]
    assert corpus.notes == ("api/pl.X of layer 'shipped' replaced by layer 'project'",)


def test_digests_depend_on_names_and_contents_only(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.md": "# A\n", "b/c.md": "# C\n"}
    first = _plain(tmp_path / "one", files).digests["mine"]
    _write(tmp_path / "two", files)
    os.utime(tmp_path / "two" / "a.md", (1, 1))
    assert _plain(tmp_path / "two", {"ignored.txt": "x"}).digests["mine"] == first
    assert _plain(tmp_path / "two", {"a.md": "# A2\n"}).digests["mine"] != first
    assert _plain(tmp_path / "three", {"a2.md": "# A\n", "b/c.md": "# C\n"}).digests["mine"] != first


def test_files_tell_what_was_read(tmp_path: Path) -> None:
    corpus = _plain(tmp_path, {"b.md": "# B\n", "a.md": "# A\n"})
    assert [(file.layer, file.name, file.size) for file in corpus.files] == [("mine", "a.md", 4), ("mine", "b.md", 4)]
    listed = list_files(Layer("mine", tmp_path)).files
    assert [(file.name, file.size, file.mtime_ns) for file in listed] == [
        (file.name, file.size, file.mtime_ns) for file in corpus.files
    ]


def test_foreign_front_matter(tmp_path: Path) -> None:
    corpus = _plain(
        tmp_path,
        {
            "a/SKILL.md": "---\nname: pdf-tools\ndescription: >\n  Use for PDF\n  files.\nlicense: MIT\n"
            "---\n\n# PDF\n\nText.\n",
            "b/SKILL.md": "---\nname: other\nlicense: MIT\nx: {y: [1]}\n---\nText.\n",
            "jekyll.md": "---\ntitle: Post\ntags: a, two words\nlayout: page\n---\nText.\n",
            "spaces.md": "---\ntitle: 2024\ntags: one two\n---\nText.\n",
            "break.md": "---\n\nTitle: not YAML: at all\n\n---\n\n# Heading\n",
            "scalar.md": "---\njust words\n---\n\n# Scalar\n",
            "open.md": "---\n# Open\n",
        },
    )
    assert [(d.id, d.title, d.tags, d.body) for d in corpus.documents] == [
        ("api/a/SKILL", "pdf-tools", (), "Use for PDF files.\n\n# PDF\n\nText.\n"),
        ("api/b/SKILL", "other", (), "Text.\n"),
        ("api/break", "Heading", (), "---\n\nTitle: not YAML: at all\n\n---\n\n# Heading\n"),
        ("api/jekyll", "Post", ("a", "two words"), "Text.\n"),
        ("api/open", "Open", (), "---\n# Open\n"),
        ("api/scalar", "Scalar", (), "# Scalar\n"),
        ("api/spaces", "2024", ("one", "two"), "Text.\n"),
    ]
    assert corpus.notes == (
        "layer 'mine': jekyll.md: ignored the foreign key 'layout'",
        "layer 'mine': a/SKILL.md and 1 more: ignored the foreign key 'license'",
        "layer 'mine': b/SKILL.md: ignored the foreign key 'x'",
    )


def test_our_front_matter_in_a_plain_tree_is_strict(tmp_path: Path) -> None:
    corpus = _plain(
        tmp_path, {"rules/x.md": "---\ntriggers: [boom]\n---\n# Boom\n", "y.md": "---\nalways: true\n---\n# Y\n"}
    )
    assert [(d.id, d.title, d.triggers, d.always) for d in corpus.documents] == [
        ("api/y", "Y", (), True),
        ("rule/x", "Boom", ("boom",), False),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rules/x.md", "---\ntitle: X\ntag: [a]\n---\nText", "3: unknown key 'tag'; did you mean 'tags'"),
        ("rules/x.md", "---\ntitle: X\ntriggers: [a]\nlayout: y\n---\nText", "4: unknown key 'layout'; the keys are: "),
        ("rules/x.md", "---\ntitle: X\ntags: a\n---\nText", "3: key 'tags': must be a list of texts, such as [a, b]"),
        ("x.md", "---\nalways: 3\n---\nText", "2: key 'always': must be true or false"),
        ("x.md", "---\nname: a: b\n---\nText", "2: front matter is not YAML: mapping values are not allowed in "),
        ("x.md", b"fine\n\xff\n", "2: the document is not UTF-8 (byte 0xff); save it as UTF-8"),
        ("rules/x.md", "---\ntitle: X\nraises: y.raises.py\n---\nT", " key 'raises': no file 'y.raises.py' beside it"),
    ],
)
def test_errors_in_a_plain_tree(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(RagctxError) as caught:
        _plain(tmp_path, {name: content})
    assert str(caught.value).startswith(f"{tmp_path / name}:{message}")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("api/x.md", "# X\n", "1: has no front matter; put it between two '---' lines"),
        ("api/x.md", "---\ntitle: X\n", "1: front matter is not closed; put it between two '---' lines"),
        ("api/x.md", "---\ntags: [a]\n---\nText", "1: front matter has no 'title'; add a 'title' line"),
        ("api/x.md", "---\ntitle: X\n---\n\n", " the document has no text; write it or delete the file"),
        ("x.md", CARD, " a document outside the kind folders; move it into one of: hardware/, api/, examples/, rules/"),
        ("examples/x.py", "x = 1\n", "1: has no front matter; put it between two '---' lines"),
        ("examples/x.py", "x =\n", "1: Python syntax error: invalid syntax"),
        (
            "examples/x.py",
            '"""\n---\ntitle: X\nalways: no way\n---\n"""\nx = 1\n',
            "4: key 'always': must be true or false",
        ),
        ("api/x.md", b"a\0b", " binary (or UTF-16), not UTF-8 text; take it out of the corpus"),
        ("api/x.md", "x" * 2_097_153, " 2,097,153 bytes, more than a document's 2,097,152; take it out of the corpus"),
    ],
)
def test_errors_in_a_strict_layer(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(RagctxError) as caught:
        _strict(tmp_path, {name: content})
    assert str(caught.value) == f"{tmp_path / name}:{message}"


def test_equal_ids_in_one_layer_name_both_files(tmp_path: Path) -> None:
    example = '"""---\ntitle: X\n---\n"""\nx = 1\n'
    with pytest.raises(RagctxError) as caught:
        _strict(tmp_path, {"examples/x.md": "---\ntitle: X\n---\nText", "examples/x.py": example})
    assert str(caught.value) == (
        f"{tmp_path / 'examples/x.py'}: the id 'example/x' is also that of examples/x.md; rename one of the two"
    )


def test_a_plain_file_gives_way_to_one_in_a_kind_folder(tmp_path: Path) -> None:
    corpus = _plain(tmp_path, {"index.md": "# Home\n", "api/index.md": "# API\n"})
    assert [(d.id, d.title) for d in corpus.documents] == [("api/index", "API"), ("api/index.md", "Home")]
    assert corpus.notes == ("layer 'mine': index.md: its id is api/index.md, since api/index.md is api/index",)


def test_what_cannot_be_a_document_is_left_out_with_a_note(tmp_path: Path) -> None:
    corpus = _plain(
        tmp_path,
        {"a.md": "# A\n", "big.md": "x" * 50_000_000, "binary.md": b"\x89PNG\0\0", "empty.md": "\n", "z.bin": b"\0"},
    )
    assert _ids(corpus) == ["api/a"]
    assert corpus.notes == (
        "layer 'mine': big.md: 50,000,000 bytes, more than a document's 2,097,152, left out",
        "layer 'mine': binary.md: binary (or UTF-16), not UTF-8 text, left out",
        "layer 'mine': empty.md: empty, left out",
    )


def test_links_never_lead_out_of_the_folder_nor_round_in_circles(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n")
    root = _write(tmp_path / "docs", {"a.md": "# A\n", "sub/b.md": "# B\n"})
    (root / "inside.md").symlink_to(root / "a.md")
    (root / "out.md").symlink_to(tmp_path / "secret.md")
    (root / "gone.md").symlink_to(root / "nothing.md")
    (root / "self.md").symlink_to(root / "self.md")
    (root / "sub" / "loop").symlink_to(root)
    (root / "elsewhere").symlink_to(tmp_path)
    os.mkfifo(root / "pipe.md")
    corpus = load_corpus([Layer("mine", root)])
    assert _ids(corpus) == ["api/a", "api/inside", "api/sub/b"]
    assert corpus.notes == (
        "layer 'mine': elsewhere: a link to a folder, not followed",
        "layer 'mine': gone.md: a link to nothing, left out",
        "layer 'mine': out.md: a link out of the folder, not followed",
        "layer 'mine': pipe.md: not an ordinary file, left out",
        "layer 'mine': self.md: a link to nothing, left out",
        "layer 'mine': sub/loop: a link to a folder, not followed",
    )


def test_file_names_that_are_not_text(tmp_path: Path) -> None:
    _write(tmp_path, {"two\nlines.md": "text\n"})
    with open(os.fsencode(tmp_path) + b"/\xff.md", "w") as stream:
        stream.write("# X\n")
    corpus = load_corpus([Layer("mine", tmp_path)])
    assert [(d.id, d.title) for d in corpus.documents] == [("api/two lines", "two lines")]
    assert corpus.notes == ("layer 'mine': \\udcff.md: its name is not UTF-8, left out",)


def test_text_comes_out_inert(tmp_path: Path) -> None:
    (document,) = _plain(tmp_path, {"a.md": "\ufeff# A\x1b[2J\r\nb\x00c".replace("\x00", "\x07")}).documents
    assert (document.title, document.body) == ("A\u241b[2J", "# A\u241b[2J\nb\u2407c\n")


def test_folders_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "file.md").write_text("# X\n")
    (tmp_path / "empty").mkdir()
    for folder, message in [
        ("missing", "no such corpus folder; check the path"),
        ("file.md", "is a file, not a corpus folder; name the folder it is in"),
        ("empty", "the corpus holds no documents; name a folder with Markdown files in it"),
    ]:
        with pytest.raises(RagctxError) as caught:
            load_corpus([Layer("mine", tmp_path / folder)])
        assert str(caught.value) == f"{tmp_path / folder}: {message}"
    with pytest.raises(RagctxError, match="^the corpus holds no documents"):
        load_corpus([])


def test_an_empty_layer_beside_a_full_one_is_a_note(tmp_path: Path) -> None:
    full, empty = _write(tmp_path / "full", {"a.md": "# A\n"}), _write(tmp_path / "none", {})
    corpus = load_corpus([Layer("full", full), Layer("none", empty)])
    assert (_ids(corpus), corpus.notes) == (["api/a"], ("layer 'none': holds no documents",))
    with pytest.raises(RagctxError, match="^two corpus layers are called 'full'; give each a name of its own$"):
        load_corpus([Layer("full", full), Layer("full", empty)])


def test_an_unreadable_file_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    _write(tmp_path, {"a.md": "# A\n"})
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(RagctxError) as caught:
        load_corpus([Layer("mine", tmp_path)])
    assert str(caught.value) == f"{tmp_path / 'a.md'}: cannot read the document: Permission denied"
