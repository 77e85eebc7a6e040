"""Settings, each from the first place that has it: flag, RAGCTX_* variable, ragctx.toml, user config, default.

`ragctx.toml` is looked for from the working folder upwards; paths in it are relative to its own folder, paths in the
environment and on the command line to the working folder.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ragctx.errors import RagctxError
from ragctx.files import read_text

PROJECT_FILE = "ragctx.toml"


@dataclass(frozen=True, slots=True)
class Settings:
    """Resolved settings; None or () means the default of whoever uses it.

    Attributes:
        corpus: Corpus layers, lowest first; the word `shipped` stands for ragctx's own.
        modules: Python modules whose API reference is read.
        api: Whether the API reference is read at all.
        python: Interpreter of the environment to read and trace with.
        index: A named index folder; without it ragctx keeps one in its cache.
        cache: Folder for what can be rebuilt.
        budget: Tokens of a prefix.
        supplement: Tokens of a supplement.
        sections: Sections of a prefix.
        target: TPU target.
        templates: Folder of templates laid over the shipped ones.
        engine: Ranking engine.
    """

    corpus: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    api: bool | None = None
    python: str | None = None
    index: str | None = None
    cache: str | None = None
    budget: int | None = None
    supplement: int | None = None
    sections: tuple[str, ...] = ()
    target: str | None = None
    templates: str | None = None
    engine: str | None = None


_LISTS = {"corpus", "modules", "sections"}
_NUMBERS = {"budget", "supplement"}
_PATHS = {"python", "index", "cache", "templates"}
_NAMES = tuple(f.name for f in fields(Settings))


def load(
    flags: Settings,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    user: Path | None = None,
) -> Settings:
    """Return the settings in force.

    Args:
        flags: What the command line gave; None and () are "not given".
        environment: Variables to read, `os.environ` by default.
        folder: Where the search for ragctx.toml starts, the working folder by default.
        user: The user's config file; by default `ragctx/config.toml` in the platform's config folder.

    Raises:
        RagctxError: If a file does not parse, or has an unknown key or a value of the wrong type.
    """
    environment = os.environ if environment is None else environment
    layers = [flags, _from_environment(environment)]
    project = find_project_file(folder or Path.cwd())
    if project is not None:
        layers.append(_from_file(project))
    user = user or _user_file(environment)
    if user.is_file():
        layers.append(_from_file(user))
    merged = Settings()
    for name in _NAMES:
        for layer in layers:
            value = getattr(layer, name)
            if value is not None and value != ():
                merged = replace(merged, **{name: value})
                break
    return merged


def find_project_file(folder: Path) -> Path | None:
    """Return the nearest ragctx.toml at or above `folder`."""
    for candidate in (folder, *folder.parents):
        if (candidate / PROJECT_FILE).is_file():
            return candidate / PROJECT_FILE
    return None


def cache_folder(settings: Settings) -> Path:
    """Return the folder for indexes and symbol tables that can be rebuilt."""
    if settings.cache:
        return Path(settings.cache)
    import platformdirs

    return Path(platformdirs.user_cache_dir("ragctx", appauthor=False))


def _user_file(environment: Mapping[str, str]) -> Path:
    named = environment.get("RAGCTX_CONFIG")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_config_dir("ragctx", appauthor=False)) / "config.toml"


def _from_environment(environment: Mapping[str, str]) -> Settings:
    values: dict[str, Any] = {}
    for name in _NAMES:
        key = f"RAGCTX_{name.upper()}"
        text = environment.get(key, "").strip()
        if not text:
            continue
        if name in _LISTS:
            separator = os.pathsep if name == "corpus" else ","
            values[name] = tuple(part.strip() for part in text.split(separator) if part.strip())
        elif name in _NUMBERS:
            values[name] = _number(text, key)
        elif name == "api":
            values[name] = _switch(text, key)
        else:
            values[name] = text
    return Settings(**values)


def _number(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise RagctxError(f"'{text}' is not a whole number", where=where) from None


def _switch(text: str, where: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    try:
        return known[text.lower()]
    except KeyError:
        raise RagctxError(f"'{text}' is neither on nor off", where=where, remedy="use 1 or 0") from None


def _from_file(path: Path) -> Settings:
    try:
        table = tomllib.loads(read_text(path, what="settings file"))
    except tomllib.TOMLDecodeError as error:
        raise RagctxError(f"not valid TOML: {error}", where=str(path)) from None
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name not in _NAMES:
            raise RagctxError(f"unknown key '{name}'", where=str(path), remedy=f"use any of: {', '.join(_NAMES)}")
        values[name] = _typed(name, value, path)
    return Settings(**values)


def _typed(name: str, value: Any, path: Path) -> Any:
    where = f"{path}: {name}"
    if name in _LISTS:
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise RagctxError("must be a list of strings", where=where)
        return tuple(_beside(path, item) for item in value) if name == "corpus" else tuple(value)
    if name == "api":
        if not isinstance(value, bool):
            raise RagctxError("must be true or false", where=where)
        return value
    if name in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int):
            raise RagctxError("must be a whole number", where=where)
        return value
    if not isinstance(value, str):
        raise RagctxError("must be a string", where=where)
    return _beside(path, value, name) if name in _PATHS else value


def _beside(path: Path, value: str, name: str = "") -> str:
    """Return a path of a settings file made relative to that file; the word `shipped` and bare commands stay."""
    if value == "shipped" or (name == "python" and "/" not in value):
        return value
    expanded = Path(value).expanduser()
    return str(expanded if expanded.is_absolute() else path.parent / expanded)


def corpus_names(settings: Settings) -> Sequence[str]:
    """Return the corpus layers in force, the shipped one by default."""
    return settings.corpus or ("shipped",)
