"""The symbol table of an installed JAX: which names there are, and how each may be called.

A child process lists it once for an interpreter (`_child/symbols.py`, where its JSON form is described); afterwards it
is read from a cache, so that a check imports no JAX and starts no process.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ragctx.children import run_script
from ragctx.errors import RagctxError
from ragctx.files import write_atomic

FORMAT = 1
"""Version of the table's form; another one is built anew."""

MODULES = (
    "jax",
    "jax.numpy",
    "jax.lax",
    "jax.nn",
    "jax.random",
    "jax.scipy.special",
    "jax.experimental.pallas",
    "jax.experimental.pallas.tpu",
    "jax.experimental.pallas.tpu_sc",
    "jax.experimental.shard_map",
    "jax.experimental.mesh_utils",
    "jax.experimental.multihost_utils",
)
"""What is imported for the table; every other public module of JAX that this loads is in it as well."""

ALIASES: Mapping[str, str] = {
    "pl": "jax.experimental.pallas",
    "pltpu": "jax.experimental.pallas.tpu",
    "plsc": "jax.experimental.pallas.tpu_sc",
    "jnp": "jax.numpy",
    "lax": "jax.lax",
}
"""Usual aliases of modules; in messages all but `lax` are used."""

_SHOWN = {module: alias for alias, module in ALIASES.items() if alias != "lax"}


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the table, or a package of JAX that the table does not hold (`known` is false)."""

    name: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method: its shown name, its signature as text if known, and whether a first parameter is bound."""

    name: str
    signature: str | None
    bound: bool = False


@dataclass(frozen=True, slots=True)
class Class:
    """A class: its shown name and its key in the table."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class Instance:
    """A value of a class of the table: what it is called, the class's key, the signature of calling it."""

    name: str
    key: str | None
    call: str | None = None


@dataclass(frozen=True, slots=True)
class Parameters:
    """A signature taken apart.

    Attributes:
        positional: Names of parameters that take positional arguments, in order.
        keywords: Names that may be given as keywords.
        required: Names without a default.
        any_positional: Whether there is `*args`.
        any_keyword: Whether there is `**kwargs`.
    """

    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    required: frozenset[str]
    any_positional: bool
    any_keyword: bool

    def without_first(self) -> Parameters:
        """Return the parameters of a bound method."""
        if not self.positional:
            return self
        first, rest = self.positional[0], self.positional[1:]
        return Parameters(
            rest,
            tuple(name for name in self.keywords if name != first),
            self.required - {first},
            self.any_positional,
            self.any_keyword,
        )


@cache
def parameters(signature: str) -> Parameters:
    """Take a signature's text apart."""
    parts = [part for part in signature.split(",") if part]
    only = set(parts[: parts.index("/")]) if "/" in parts else set()
    positional: list[str] = []
    keywords: list[str] = []
    required: set[str] = set()
    any_positional = any_keyword = star = False
    for part in parts:
        if part == "/":
            continue
        if part.startswith("**"):
            any_keyword = True
        elif part.startswith("*"):
            star = True
            any_positional = part != "*"
        else:
            name = part.removesuffix("=")
            if not star:
                positional.append(name)
            if part not in only:
                keywords.append(name)
            if part == name:
                required.add(name)
    return Parameters(tuple(positional), tuple(keywords), frozenset(required), any_positional, any_keyword)


Symbol = Module | Function | Class | Instance


class SymbolTable:
    """Names and signatures of one installed JAX.

    Args:
        data: The table as `_child/symbols.py` answers it.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.python: str = data["python"]
        self.versions: Mapping[str, str] = data["versions"]
        self.modules: Mapping[str, Any] = data["modules"]
        self.classes: Mapping[str, Any] = data["classes"]

    @property
    def jax(self) -> str:
        """The version of JAX."""
        return self.versions["jax"]

    def module(self, name: str) -> Module | None:
        """Return a module of JAX by its full name; None if the table says that there is none."""
        if name in self.modules:
            return Module(name)
        above, _, last = name.rpartition(".")
        parent = self.module(above) if above else None
        if parent is None:
            return None
        return None if parent.known and last not in self.modules[above]["submodules"] else Module(name, known=False)

    def attribute(self, owner: Symbol, name: str) -> Symbol | bool:
        """Return what `owner.name` is: a symbol, True if it is something unknown, False if there is no such thing."""
        if name.startswith("_"):
            return True
        if isinstance(owner, Module):
            return self._module_attribute(owner, name)
        if isinstance(owner, Class):
            entry = self.classes[owner.key]["attrs"].get(name)
            if entry is not None:
                return self._symbol(entry, f"{owner.name}.{name}")
            return bool(self.classes[owner.key]["open"])
        if isinstance(owner, Instance) and owner.key is not None:
            return self._instance_attribute(owner, owner.key, name)
        return True

    def _module_attribute(self, owner: Module, name: str) -> Symbol | bool:
        if not owner.known:
            return True
        module = self.modules[owner.name]
        entry = module["names"].get(name)
        if entry is not None:
            return self._symbol(entry, f"{shown(owner.name)}.{name}")
        if name in module["submodules"]:
            # Somebody may have imported it by now.
            return self.module(f"{owner.name}.{name}") or True
        return bool(module["open"])

    def _instance_attribute(self, owner: Instance, key: str, name: str) -> Symbol | bool:
        cls = self.classes[key]
        entry = cls["attrs"].get(name)
        if entry is not None:
            return self._symbol(entry, f"{owner.name}.{name}", bound=True)
        return True if cls["instance"] is None else name in cls["instance"]

    def _symbol(self, entry: list[Any], name: str, *, bound: bool = False) -> Symbol | bool:
        kind, value = entry[0], entry[1]
        if kind == "m":
            return Module(value) if value in self.modules else True
        if kind == "f":
            return Function(name, value, bound=bound and "self" in entry[2:])
        if kind == "c":
            return Class(name, value)
        return Instance(name, value, entry[2])

    def names(self, owner: Symbol) -> list[str]:
        """Return the public names that `owner` has, those that warn left out, sorted."""
        if isinstance(owner, Module) and owner.known:
            module = self.modules[owner.name]
            return sorted((set(module["names"]) | set(module["submodules"])) - set(module["warned"]))
        if isinstance(owner, Class):
            return sorted(set(self.classes[owner.key]["attrs"]) - {"mro"})
        if isinstance(owner, Instance) and owner.key is not None:
            cls = self.classes[owner.key]
            return sorted((set(cls["attrs"]) | set(cls["instance"] or ())) - {"mro"})
        return []

    def star_names(self, module: str) -> list[str]:
        """Return what `from module import *` binds."""
        entry = self.modules[module]
        if entry["star"] is not None:
            return list(entry["star"])
        return sorted(set(entry["names"]) - set(entry["warned"]))

    def lookup(self, name: str) -> Symbol | bool:
        """Return what a dotted name stands for, by usual alias or in full, as `attribute` does."""
        first, *rest = name.split(".")
        found: Symbol | bool = self.module(ALIASES.get(first, first)) or False
        for part in rest:
            if isinstance(found, bool):
                return found
            found = self.attribute(found, part)
        return found

    def has(self, name: str) -> bool:
        """Return whether a dotted name works without a warning, as far as that is known."""
        owner, _, last = name.rpartition(".")
        module = ALIASES.get(owner, owner)
        return self.lookup(name) is not False and last not in self.modules.get(module, {}).get("warned", ())

    def gone_message(self, owner: Symbol, name: str) -> str:
        """Return what JAX itself says when a name is asked for that it removed, or ""."""
        if isinstance(owner, Module) and owner.known:
            return str(self.modules[owner.name]["gone"].get(name, ""))
        return ""

    def call_parameters(self, symbol: Symbol) -> Parameters | None:
        """Return the parameters by which a symbol is called, or None if they are not known."""
        text: str | None = None
        if isinstance(symbol, Function):
            text = symbol.signature
        elif isinstance(symbol, Class):
            text = self.classes[symbol.key]["sig"]
        elif isinstance(symbol, Instance):
            text = symbol.call
            if text is None and symbol.key is not None:
                text = self.classes[symbol.key]["call"]
        if text is None:
            return None
        bound = isinstance(symbol, Function) and symbol.bound
        return parameters(text).without_first() if bound else parameters(text)

    def is_abstract(self, symbol: Class) -> bool:
        """Return whether a class cannot be called (a protocol, or one with abstract methods)."""
        return bool(self.classes[symbol.key]["abstract"])

    def is_enum(self, symbol: Class) -> bool:
        """Return whether a class is an enum."""
        return bool(self.classes[symbol.key]["enum"])


def shown(module: str) -> str:
    """Return a module's name as messages write it: by its usual alias if it has one."""
    return _SHOWN.get(module, module)


def load_table(python: str | None = None, *, folder: Path) -> SymbolTable:
    """Return the symbol table of an interpreter's JAX, from the cache while that JAX is unchanged.

    Args:
        python: The interpreter; this one by default.
        folder: The cache folder; tables are kept in `symbols/` below it.

    Raises:
        RagctxError: If the interpreter cannot be run, has no JAX, or the cache cannot be written.
    """
    interpreter = shutil.which(python) or python if python else sys.executable
    path = folder / "symbols" / f"{_key(interpreter)}.json"
    data = _read(path)
    if data is None:
        data = build_table(interpreter)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, json.dumps(data, separators=(",", ":"), sort_keys=True))
    return SymbolTable(data)


def _key(interpreter: str) -> str:
    """Return the name of an interpreter's table. A virtual environment is known by its link, so links stay."""
    text = f"{FORMAT}\0{os.path.abspath(interpreter)}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _read(path: Path) -> dict[str, Any] | None:
    """Return a cached table, or None if there is none, it is damaged, or the JAX it was read from has changed."""
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != FORMAT or not all(_unchanged(*state) for state in data["witness"]):
            return None
        if not (data["python"] and data["versions"]["jax"] and data["modules"]["jax"] and data["classes"]):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return data if isinstance(data, dict) else None


def _unchanged(path: str, size: int, mtime_ns: int) -> bool:
    state = os.stat(path)
    return (state.st_size, state.st_mtime_ns) == (size, mtime_ns)


def build_table(python: str) -> dict[str, Any]:
    """List an interpreter's JAX in a child process.

    Raises:
        RagctxError: If the interpreter cannot be run or has no JAX.
    """
    result = run_script("symbols.py", {"modules": list(MODULES)}, python=python, timeout_s=300)
    if not isinstance(result.answer, dict):
        lines = result.stderr.strip().splitlines()
        raise RagctxError(
            f"cannot list its JAX: {lines[-1] if lines else f'status {result.status}'}",
            where=python,
            remedy="name a Python 3 executable that has JAX installed",
        )
    return {**result.answer, "format": FORMAT}
