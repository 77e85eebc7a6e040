from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ragctx import data
from ragctx.corpus import DEFAULT_MODULES, Layer, load_corpus
from ragctx.errors import RagctxError
from ragctx.index import Environment, IndexSpec, index_spec, load_sources, read_environment
from ragctx.index.sources import SHIPPED, corpus_digest


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    def make(name: str, **files: str) -> Path:
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (tmp_path / name / f"{file}.md").write_text(text, encoding="utf-8")
        return tmp_path / name

    return make


@pytest.fixture(scope="module")
def here() -> Environment:
    return read_environment(None)


def test_the_shipped_corpus_comes_with_the_reference_of_pallas() -> None:
    spec = index_spec()
    assert spec == IndexSpec((Layer("shipped", data.corpus(), strict=True),), tuple(DEFAULT_MODULES), None)


def test_anyones_corpus_comes_without_it_unless_asked_for(folder: Callable[..., Path]) -> None:
    docs = folder("docs", a="# A\n")
    assert index_spec([docs]).modules == ()
    assert index_spec([docs], modules=["acme"], python="/py") == IndexSpec((Layer("docs", docs),), ("acme",), "/py")
    assert index_spec([SHIPPED, docs]).modules == tuple(DEFAULT_MODULES)
    assert index_spec([SHIPPED], modules=["acme"]).modules == ("acme",)
    assert index_spec([SHIPPED], modules=["acme"], api=False).modules == ()
    assert index_spec(api=False).modules == ()


def test_layers_are_called_by_their_folders_and_told_apart(folder: Callable[..., Path]) -> None:
    one, two, three = (folder(f"{parent}/docs", a="# A\n") for parent in "abc")
    spec = index_spec([one, SHIPPED, two, three])
    assert [(layer.name, layer.strict) for layer in spec.layers] == [
        ("docs", False),
        ("shipped", True),
        ("docs-2", False),
        ("docs-3", False),
    ]


def test_a_relative_folder_is_called_by_its_own_name(
    folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder("docs", a="# A\n"))
    assert [layer.name for layer in index_spec(["."]).layers] == ["docs"]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["missing"], "no such corpus folder; check the path"),
        (["docs/a.md"], "is a file, not a corpus folder; name the folder it is in"),
        (["docs", "./docs/../docs"], "this corpus is named twice; name it once"),
        (["shipped", "shipped"], "this corpus is named twice; name it once"),
    ],
)
def test_folders_that_cannot_be_meant(
    folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, names: list[str], says: str
) -> None:
    monkeypatch.chdir(folder("docs", a="# A\n").parent)
    with pytest.raises(RagctxError) as caught:
        index_spec(names)
    assert str(caught.value) == f"{names[-1]}: {says}"


def test_what_is_read_and_what_the_manifest_says(folder: Callable[..., Path], here: Environment) -> None:
    low = folder("low", a="# A of low\n\nText.\n", b="# B\n\nText.\n")
    high = folder("high", a="# A of high\n\nText.\n")
    sources = load_sources(index_spec([low, high]), here)
    assert {document.id: document.title for document in sources.documents} == {"api/a": "A of high", "api/b": "B"}
    assert sources.synonyms == ()
    assert sources.consulted == {}
    digest = corpus_digest(load_corpus(index_spec([low, high]).layers))
    assert sources.manifest == {
        "corpus_digest": digest,
        "modules": [],
        "versions": {},
        "notes": ["api/a of layer 'low' replaced by layer 'high'"],
        "left_out": [],
    }
    assert [part.partition(":")[0] for part in digest.split("+")] == ["low", "high"]


def test_the_digest_is_of_contents_and_names_not_of_places(folder: Callable[..., Path]) -> None:
    def digest(path: Path) -> str:
        return corpus_digest(load_corpus(index_spec([path]).layers))

    one = digest(folder("x/docs", a="# A\n\nText.\n"))
    assert digest(folder("y/docs", a="# A\n\nText.\n")) == one
    assert digest(folder("z/docs", a="# A\n\nText!\n")) != one
    assert digest(folder("x/other", a="# A\n\nText.\n")) != one


def test_documents_for_other_versions_are_left_out_and_said(folder: Callable[..., Path], here: Environment) -> None:
    docs = folder(
        "docs",
        a="---\ntitle: Old\nrequires: {jax: '<0.1'}\n---\nText.\n",
        b="---\ntitle: New\nrequires: {jax: '>=0.6'}\n---\nText.\n",
        c="---\ntitle: Absent\nrequires: {nosuchdist: '>=2'}\n---\nText.\n",
    )
    sources = load_sources(index_spec([docs]), here)
    # What is not installed excludes nothing.
    assert [document.title for document in sources.documents] == ["New", "Absent"]
    reason = f"requires jax <0.1, installed is {here.version('jax')}"
    assert sources.manifest["left_out"] == [{"document": "api/a", "reason": reason}]
    assert set(sources.consulted) == {"jax", "nosuchdist"}
    assert sources.consulted["nosuchdist"] is None
    assert sources.manifest["versions"] == {"jax": here.version("jax")}


def test_no_document_for_the_installed_versions_is_an_error(folder: Callable[..., Path], here: Environment) -> None:
    docs = folder("docs", a="---\ntitle: Old\nrequires: {jax: '<0.1'}\n---\nText.\n")
    with pytest.raises(RagctxError, match="no document is for the installed versions; see `requires`"):
        load_sources(index_spec([docs]), here)


def test_an_empty_corpus_is_an_error(folder: Callable[..., Path], here: Environment) -> None:
    with pytest.raises(RagctxError, match="the corpus holds no documents; name a folder with Markdown files in it"):
        load_sources(index_spec([folder("docs")]), here)


def test_synonyms_of_every_layer(folder: Callable[..., Path], here: Environment) -> None:
    docs = folder("docs", a="# A\n\nText.\n")
    (docs / "synonyms.yaml").write_text("groups:\n  - name: vat\n    words: [vat, tank]\n", encoding="utf-8")
    assert [group.words for group in load_sources(index_spec([docs]), here).synonyms] == [("vat", "tank")]


def test_a_modules_reference_is_merged_with_the_card_for_the_same_symbol(
    folder: Callable[..., Path], here: Environment
) -> None:
    docs = folder("docs/api", **{"version.parse": "---\ntitle: Parse\n---\nSlowly.\n"}).parent
    sources = load_sources(index_spec([docs], modules=["packaging.version"]), here)
    by_id = {document.id: document for document in sources.documents}
    card = by_id["api/version.parse"]
    assert (card.title, card.layer) == ("Parse", "docs")
    assert card.body.startswith("Slowly.\n\n## Reference (packaging ")
    assert "version.parse(version: str) -> Version" in card.body
    assert by_id["api/version.Version"].layer == "installed"
    assert sources.manifest["modules"] == ["packaging.version"]
    assert sources.manifest["versions"]["packaging"] == here.version("packaging")
    assert sources.consulted == {"packaging": here.version("packaging")}


def test_a_module_that_cannot_be_imported_is_an_error(folder: Callable[..., Path], here: Environment) -> None:
    with pytest.raises(RagctxError, match="nosuchmodule"):
        load_sources(index_spec([folder("docs", a="# A\n")], modules=["nosuchmodule"]), here)
