"""What an interpreter has installed, read from its folders: nothing is imported and, for one's own, nothing is run."""

from __future__ import annotations

import hashlib
import importlib.machinery
import json
import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from ragctx.children import run_script
from ragctx.errors import RagctxError
from ragctx.index.digests import FileDigests


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter and where it looks for modules.

    Attributes:
        python: Its version.
        path: Its module search path.
    """

    python: str
    path: tuple[str, ...]

    def version(self, distribution: str) -> str | None:
        """Return the version of an installed distribution, or None if it is not there."""
        found = self._distribution(distribution)
        return None if found is None else found.version

    def package_state(self, package: str, digests: FileDigests) -> str:
        """Return what tells one state of a top-level package from another.

        That is its version if it was installed from a wheel, and a digest of its sources if it is edited in place or
        belongs to no distribution of its name.
        """
        found = self._distribution(package)
        if found is not None and not _is_editable(found):
            return f"version {found.version}"
        spec = importlib.machinery.PathFinder.find_spec(package, list(self.path))
        if spec is None:
            return "missing" if found is None else f"version {found.version}"
        if spec.submodule_search_locations is None:
            return (
                f"sources {digests.files_digest(Path(spec.origin).parent, [Path(spec.origin)])}"
                if spec.origin
                else "built in"
            )
        total = hashlib.blake2b(digest_size=16)
        for folder in spec.submodule_search_locations:
            total.update(digests.files_digest(Path(folder), _sources(Path(folder))).encode())
        return f"sources {total.hexdigest()}"

    def _distribution(self, name: str) -> metadata.Distribution | None:
        return next(iter(metadata.distributions(name=name, path=list(self.path))), None)


def read_environment(python: str | None) -> Environment:
    """Return the environment of an interpreter; this one's by default.

    Raises:
        RagctxError: If the interpreter cannot be run.
    """
    if python is None:
        return Environment(platform.python_version(), tuple(sys.path))
    result = run_script("search_path.py", {}, python=python, timeout_s=60)
    answer = result.answer
    if not isinstance(answer, dict) or not isinstance(answer.get("path"), list):
        lines = result.stderr.strip().splitlines()
        raise RagctxError(
            f"the interpreter does not answer: {lines[-1] if lines else f'status {result.status}'}",
            where=python,
            remedy="name a Python 3 executable",
        )
    return Environment(str(answer["python"]), tuple(map(str, answer["path"])))


def _is_editable(distribution: metadata.Distribution) -> bool:
    text = distribution.read_text("direct_url.json")
    if not text:
        return False
    try:
        return bool(json.loads(text)["dir_info"]["editable"])
    except (ValueError, KeyError, TypeError):
        return False


def _sources(folder: Path) -> Iterable[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            if name.endswith((".py", ".pyi")):
                yield Path(root, name)
