"""From names of corpora and modules to everything an index is built from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ragctx import data
from ragctx.corpus import Corpus, Document, Layer
from ragctx.errors import RagctxError
from ragctx.index.build import Progress
from ragctx.index.cache import IndexSpec, Sources, default_cache, ensure_index
from ragctx.index.environment import Environment
from ragctx.index.index import Index
from ragctx.index.synonyms import FILE as SYNONYMS_FILE
from ragctx.index.synonyms import SynonymGroup, layered, load_synonyms

SHIPPED = "shipped"
"""The name that stands for ragctx's own corpus among corpus folders."""


def index_spec(
    corpora: Sequence[str | Path] = (SHIPPED,),
    *,
    modules: Sequence[str] | None = None,
    api: bool = True,
    python: str | None = None,
) -> IndexSpec:
    """Return the spec of an index.

    Args:
        corpora: Corpus folders, lowest layer first; the word `shipped` stands for ragctx's own.
        modules: Modules whose API reference is read. By default those of Pallas where the shipped corpus is among
            the layers, and none otherwise: the reference of JAX is no help with somebody's own API.
        api: False for no API reference whatever `modules` says.
        python: Interpreter of the environment to read from.

    Raises:
        RagctxError: If a folder is missing or is a file, or one is named twice.
    """
    from ragctx.corpus import DEFAULT_MODULES

    layers = tuple(_layer(str(corpus)) for corpus in corpora)
    folders = [layer.folder.resolve() for layer in layers]
    for place, folder in enumerate(folders):
        if folder in folders[:place]:
            raise RagctxError("this corpus is named twice", where=str(corpora[place]), remedy="name it once")
    if not api:
        chosen: tuple[str, ...] = ()
    elif modules:
        chosen = tuple(modules)
    else:
        chosen = tuple(DEFAULT_MODULES) if any(layer.name == SHIPPED for layer in layers) else ()
    return IndexSpec(_distinct(layers), chosen, python)


def open_corpus(
    *corpora: str | Path,
    modules: Sequence[str] | None = None,
    api: bool = True,
    python: str | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Index:
    """Return the index of some corpus folders from ragctx's cache, built first if it is missing or stale.

        builder = ragctx.ContextBuilder(ragctx.open_corpus("docs"))

    Args:
        *corpora: As for `index_spec`; the shipped corpus by default.
        modules: As for `index_spec`.
        api: As for `index_spec`.
        python: As for `index_spec`.
        cache: Folder of the cache; the user's by default.
        progress: Told the steps of a build.

    Raises:
        RagctxError: If a corpus cannot be read or the cache cannot be written.
    """
    spec = index_spec(corpora or (SHIPPED,), modules=modules, api=api, python=python)
    return ensure_index(spec, cache or default_cache(), load_sources, progress=progress)


def load_sources(spec: IndexSpec, there: Environment) -> Sources:
    """Read the corpus layers and the API reference of a spec.

    Documents whose `requires` excludes an installed version are left out and listed in the manifest.

    Raises:
        RagctxError: If a document is malformed, the corpus is empty, or a named module cannot be imported.
    """
    from ragctx.corpus import filter_by_requires, load_corpus, merge, read_api

    corpus = load_corpus(spec.layers)
    required = sorted({name for document in corpus.documents for name in document.requires})
    documents: Sequence[Document] = corpus.documents
    versions: dict[str, str] = {}
    notes = list(corpus.notes)
    if spec.modules:
        reference = read_api(spec.modules, spec.python, distributions=required)
        documents = merge(corpus.documents, reference.documents)
        versions.update(reference.versions)
        notes += reference.notes
    consulted = {name: there.version(name) for name in sorted({*required, *versions} - {"python"})}
    versions.update({name: version for name, version in consulted.items() if version is not None})
    filtered = filter_by_requires(documents, versions)
    if not filtered.documents:
        raise RagctxError("no document is for the installed versions", remedy="see `requires` in their front matter")
    return Sources(
        documents=filtered.documents,
        synonyms=layered(_synonyms(layer) for layer in spec.layers),
        manifest={
            "corpus_digest": corpus_digest(corpus),
            "modules": list(spec.modules),
            "versions": dict(sorted(versions.items())),
            "notes": notes,
            "left_out": [{"document": left.document.id, "reason": left.reason} for left in filtered.left_out],
        },
        consulted=consulted,
    )


def corpus_digest(corpus: Corpus) -> str:
    """Return one digest of the contents of all layers, in their order."""
    return "+".join(f"{name}:{digest[:16]}" for name, digest in corpus.digests.items())


def _layer(name: str) -> Layer:
    if name == SHIPPED:
        return Layer(SHIPPED, data.corpus(), strict=True)
    folder = Path(name)
    if not folder.exists():
        raise RagctxError("no such corpus folder", where=name, remedy="check the path")
    if not folder.is_dir():
        raise RagctxError("is a file, not a corpus folder", where=name, remedy="name the folder it is in")
    return Layer(folder.resolve().name or "corpus", folder, strict=False)


def _distinct(layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """Return layers with different names: the second `docs` is called `docs-2`."""
    taken: dict[str, int] = {}
    out = []
    for layer in layers:
        count = taken[layer.name] = taken.get(layer.name, 0) + 1
        out.append(layer if count == 1 else replace(layer, name=f"{layer.name}-{count}"))
    return tuple(out)


def _synonyms(layer: Layer) -> tuple[SynonymGroup, ...]:
    path = Path(layer.folder) / SYNONYMS_FILE
    return load_synonyms(path) if path.is_file() else ()
