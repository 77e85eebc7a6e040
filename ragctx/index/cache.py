"""ragctx's own indexes: kept in the user's cache folder under a key of everything that shapes them.

    CACHE/files.json     digests of files by size and modification time; only a shortcut
    CACHE/<key>/         one index (`ragctx.index.folder`); the key covers the contents of the corpus layers, the state
                         of the packages whose API reference is in it, and the versions and settings of ragctx

What changed gives another key, so going back to an earlier state finds its index again; the least recently used are
removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragctx.corpus import Document, Layer, list_files
from ragctx.corpus.files import MAX_FILE_BYTES
from ragctx.errors import RagctxError
from ragctx.index.build import FIELD_WEIGHTS, Progress, build_index, versions
from ragctx.index.digests import FileDigests
from ragctx.index.environment import Environment, read_environment
from ragctx.index.folder import CURRENT, FORMAT
from ragctx.index.index import Index, open_index, versions_of_index
from ragctx.index.synonyms import FILE as SYNONYMS_FILE
from ragctx.index.synonyms import SynonymGroup

_KEPT = 8


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """What an index is to hold.

    Attributes:
        layers: Corpus layers, lowest first.
        modules: Modules whose API reference is read; none for no API reference.
        python: The interpreter they are read from; None for this one.
    """

    layers: tuple[Layer, ...]
    modules: tuple[str, ...] = ()
    python: str | None = None


@dataclass(frozen=True, slots=True)
class Sources:
    """What was read for an index.

    Attributes:
        documents: The documents.
        synonyms: Synonym groups.
        manifest: What else its manifest says; no paths, no times.
        consulted: Versions by distribution (None: not installed) that decided which documents are in; when one of
            them differs later, the index is built again.
    """

    documents: Sequence[Document]
    synonyms: Sequence[SynonymGroup] = ()
    manifest: Mapping[str, Any] = field(default_factory=dict)
    consulted: Mapping[str, str | None] = field(default_factory=dict)


Load = Callable[[IndexSpec, Environment], Sources]


def default_cache() -> Path:
    """Return the folder of ragctx's own indexes in the user's cache folder."""
    import platformdirs

    return platformdirs.user_cache_path("ragctx") / "index"


def ensure_index(
    spec: IndexSpec, cache: Path, load: Load, *, progress: Progress | None = None, rebuild: bool = False
) -> Index:
    """Return the index of a spec from the cache; built, or built again, if it is missing, stale or damaged.

    Args:
        spec: What it is to hold.
        cache: The cache folder; made if it is missing.
        load: Reads what the spec names; called only when the index has to be built.
        progress: Told the steps of a build.
        rebuild: Build it even if the one there looks right (opening does not read every byte).

    Raises:
        RagctxError: If a layer cannot be read, the interpreter cannot be run, or the cache cannot be written.
    """
    digests = FileDigests(cache / "files.json")
    there = read_environment(spec.python)
    folder = cache / index_key(spec, there, digests)
    digests.save()
    try:
        index = None if rebuild else open_index(folder)
    except RagctxError:
        index = None
    if index is not None:
        consulted: Mapping[str, str | None] = index.manifest.get("consulted", {})
        if all(there.version(name) == version for name, version in consulted.items()):
            _mark_used(folder)
            return index
    sources = load(spec, there)
    index = build_index(
        sources.documents,
        folder,
        synonyms=sources.synonyms,
        manifest_extra={**sources.manifest, "consulted": dict(sorted(sources.consulted.items()))},
        progress=progress,
    )
    _remove_old(cache, keep=folder)
    return index


def index_key(spec: IndexSpec, there: Environment, digests: FileDigests) -> str:
    """Return the key of a spec's index: a digest without paths and times.

    Raises:
        RagctxError: If a layer cannot be read.
    """
    packages = sorted({module.split(".")[0] for module in spec.modules})
    shaping = {
        "format": FORMAT,
        "ours": versions_of_index(),
        "packages": versions(),
        "fields": dict(FIELD_WEIGHTS),
        "layers": [[layer.name, layer.strict, layer_state(layer, digests)] for layer in spec.layers],
        "modules": list(spec.modules),
        "states": {package: there.package_state(package, digests) for package in packages},
        "python": there.python if packages else None,
    }
    text = json.dumps(shaping, sort_keys=True)
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def layer_state(layer: Layer, digests: FileDigests) -> str:
    """Return a digest of everything in a layer that shapes an index.

    Raises:
        RagctxError: If the layer cannot be read.
    """
    files = [file.path for file in list_files(layer).files if file.size <= MAX_FILE_BYTES]
    synonyms = Path(layer.folder, SYNONYMS_FILE)
    if synonyms.is_file():
        files.append(synonyms)
    return digests.files_digest(Path(layer.folder), files)


def _mark_used(folder: Path) -> None:
    try:
        os.utime(folder / CURRENT)
    except OSError:
        # A cache that is shared read-only is still a cache.
        pass


def _remove_old(cache: Path, keep: Path) -> None:
    """Remove all but the most recently used indexes of the cache."""
    used: list[tuple[int, Path]] = []
    for folder in cache.iterdir():
        try:
            used.append(((folder / CURRENT).stat().st_mtime_ns, folder))
        except OSError:
            continue
    used.sort(key=lambda entry: (-entry[0], entry[1].name))
    for _, folder in used[_KEPT:]:
        if folder != keep:
            aside = cache / f".old-{secrets.token_hex(8)}"
            try:
                os.replace(folder, aside)
            except OSError:
                continue
            shutil.rmtree(aside, ignore_errors=True)
