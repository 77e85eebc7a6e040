from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ragctx.corpus import Layer, load_corpus
from ragctx.errors import RagctxError
from ragctx.index import Environment, Index, IndexSpec, Sources, SynonymGroup, default_cache, ensure_index
from ragctx.index import cache as cache_module

LONG_AGO_NS = 1_600_000_000_000_000_000
STEPS = itertools.count()


class Loader:
    """Loads a spec's layers and counts how often it had to."""

    def __init__(self) -> None:
        self.calls = 0
        self.consulted: dict[str, str | None] = {}

    def __call__(self, spec: IndexSpec, there: Environment) -> Sources:
        self.calls += 1
        corpus = load_corpus(spec.layers)
        return Sources(
            corpus.documents, (SynonymGroup("x", ("alpha", "beta")),), {"corpus": dict(corpus.digests)}, self.consulted
        )


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    write(folder / "one.md", "# One\n\nalpha words\n")
    write(folder / "two.md", "# Two\n\nother words\n")
    return folder


def write(path: Path, text: str) -> None:
    """Write a file as if long ago, each time a little later, so that its digest is trusted until it changes."""
    path.write_text(text)
    stamp = LONG_AGO_NS + next(STEPS)
    os.utime(path, ns=(stamp, stamp))


@pytest.fixture
def spec(layer: Path) -> IndexSpec:
    return IndexSpec((Layer("docs", layer),))


@pytest.fixture
def loader() -> Loader:
    return Loader()


@pytest.fixture
def ensure(tmp_path: Path, loader: Loader) -> Callable[[IndexSpec], Index]:
    return lambda spec: ensure_index(spec, tmp_path / "cache", loader)


Ensure = Callable[[IndexSpec], Index]


def test_an_index_is_built_once(ensure: Ensure, spec: IndexSpec, loader: Loader) -> None:
    first = ensure(spec)
    assert [hit.id for hit in first.search("beta", k=3)] == ["api/one#000"]
    assert ensure(spec).digest == first.digest
    assert loader.calls == 1
    assert first.manifest["consulted"] == {}
    assert set(first.manifest["corpus"]) == {"docs"}


def test_a_changed_document_builds_again_and_going_back_does_not(
    ensure: Ensure, spec: IndexSpec, loader: Loader, layer: Path
) -> None:
    first = ensure(spec)
    write(layer / "one.md", "# One\n\ngamma words\n")
    second = ensure(spec)
    assert (loader.calls, [hit.id for hit in second.search("gamma", k=3)]) == (2, ["api/one#000"])
    write(layer / "one.md", "# One\n\nalpha words\n")
    assert ensure(spec).digest == first.digest
    assert loader.calls == 2


def test_a_new_and_a_removed_document_build_again(ensure: Ensure, spec: IndexSpec, loader: Loader, layer: Path) -> None:
    ensure(spec)
    write(layer / "three.md", "# Three\n\nmore words\n")
    assert ensure(spec).documents_count == 3
    (layer / "two.md").unlink()
    assert ensure(spec).documents_count == 2
    assert loader.calls == 3


def test_synonyms_shape_the_index_and_other_files_do_not(
    ensure: Ensure, spec: IndexSpec, loader: Loader, layer: Path
) -> None:
    ensure(spec)
    write(layer / "notes.txt", "nothing")
    ensure(spec)
    assert loader.calls == 1
    write(layer / "synonyms.yaml", "groups: []\n")
    ensure(spec)
    assert loader.calls == 2


def test_times_and_places_do_not_matter(
    ensure: Ensure, spec: IndexSpec, loader: Loader, layer: Path, tmp_path: Path
) -> None:
    ensure(spec)
    os.utime(layer / "one.md", ns=(LONG_AGO_NS + 5, LONG_AGO_NS + 5))
    ensure(spec)
    moved = layer.rename(tmp_path / "moved")
    ensure(IndexSpec((Layer("docs", moved),)))
    assert loader.calls == 1


def test_modules_names_of_layers_and_versions_matter(
    ensure: Ensure, spec: IndexSpec, loader: Loader, layer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure(spec)
    ensure(replace(spec, modules=("jax.experimental.pallas",)))
    ensure(replace(spec, modules=("jax.numpy",)))
    ensure(IndexSpec((Layer("mine", layer),)))
    assert loader.calls == 4
    monkeypatch.setattr(cache_module, "FIELD_WEIGHTS", {"title": 9})
    ensure(spec)
    assert loader.calls == 5


def test_a_version_that_was_consulted_and_differs_builds_again(ensure: Ensure, spec: IndexSpec, loader: Loader) -> None:
    loader.consulted = {"jax": "0.0.1", "acme": None}
    assert ensure(spec).manifest["consulted"] == {"acme": None, "jax": "0.0.1"}
    loader.consulted = {"acme": None}
    assert ensure(spec).manifest["consulted"] == {"acme": None}
    ensure(spec)
    assert loader.calls == 2


@pytest.mark.parametrize("name", ["manifest.json", "chunks.jsonl", "postings_scores.npy"])
def test_a_damaged_index_is_built_again(ensure: Ensure, spec: IndexSpec, loader: Loader, name: str) -> None:
    first = ensure(spec)
    (first.path / name).write_bytes(b"")
    assert ensure(spec).digest == first.digest
    ensure(spec)
    assert loader.calls == 2


def test_a_layer_that_cannot_be_read_is_an_error(ensure: Ensure, tmp_path: Path, loader: Loader) -> None:
    with pytest.raises(RagctxError, match="no such corpus folder"):
        ensure(IndexSpec((Layer("docs", tmp_path / "nothing"),)))
    assert loader.calls == 0


def test_a_cache_that_cannot_be_written_is_an_error(spec: IndexSpec, tmp_path: Path, loader: Loader) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RagctxError, match="cannot write the index"):
        ensure_index(spec, tmp_path / "file", loader)


def test_the_least_recently_used_are_removed(
    ensure: Ensure, spec: IndexSpec, loader: Loader, layer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_KEPT", 2)
    texts = [f"# One\n\nstate{i} words\n" for i in range(3)]
    for age, text in enumerate(texts[:2]):
        write(layer / "one.md", text)
        index = ensure(spec)
        stamp = LONG_AGO_NS + age * 10**9
        os.utime(index.path.parent / "current", ns=(stamp, stamp))
    write(layer / "one.md", texts[0])
    ensure(spec)
    assert loader.calls == 2, "the first state was used again, so the second is the older one"
    write(layer / "one.md", texts[2])
    ensure(spec)
    folders = [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]
    assert len(folders) == 2 and not [path for path in folders if path.name.startswith(".")]
    write(layer / "one.md", texts[0])
    ensure(spec)
    assert loader.calls == 3
    write(layer / "one.md", texts[1])
    ensure(spec)
    assert loader.calls == 4


def test_the_default_place_is_the_users_cache_folder() -> None:
    assert default_cache() == Path(os.environ["XDG_CACHE_HOME"]) / "ragctx" / "index"


def test_damage_that_opening_does_not_see_is_repaired_on_demand(
    spec: IndexSpec, loader: Loader, tmp_path: Path
) -> None:
    index = ensure_index(spec, tmp_path / "cache", loader)
    path = index.path / "chunks.jsonl"
    path.write_bytes(path.read_bytes().replace(b"alpha", b"gamma"))
    assert "gamma" in ensure_index(spec, tmp_path / "cache", loader).chunk(0).text
    assert "alpha" in ensure_index(spec, tmp_path / "cache", loader, rebuild=True).chunk(0).text
    assert loader.calls == 2
