"""What became of names and keywords that are gone: the corpus's table, and what its cards were called before.

    names:      [{old: pltpu.TPUCompilerParams, new: [pltpu.CompilerParams], since: "0.7.2", note: ...}]
    keywords:   [{callable: pl.kernel, old: out_shape, new: [out_type], since: "0.10.1", note: ...}]
    arguments:  [{callable: pl.pallas_call, argument: compiler_params, given: dict, new: [...], since: ..., error: ...}]

`since` is the first version of JAX that lacks the old name (of `arguments`: that refuses the value); without it JAX
never had it. `new` holds names of the API or other code, the best first. An entry of `arguments` says which kind of
value a parameter does not take, and `error` is a pattern of what JAX then says at run time.
"""

from __future__ import annotations

import ast
import difflib
import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragctx.corpus.document import Document
from ragctx.errors import RagctxError
from ragctx.files import read_text
from ragctx.verify.symbols import ALIASES, Class, Module, Parameters, Symbol, SymbolTable, shown

FILE = "renames.yaml"

_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
# Where a name that is looked for in the wrong module may be, the likeliest first.
_SEARCHED = (
    "jax.experimental.pallas",
    "jax.experimental.pallas.tpu",
    "jax.numpy",
    "jax.lax",
    "jax",
    "jax.nn",
    "jax.random",
    "jax.scipy.special",
    "jax.tree_util",
    "jax.sharding",
    "jax.experimental.pallas.tpu_sc",
)
_NEAR = 0.75
_MAX_SHOWN = 3


class Shape(enum.StrEnum):
    """Kinds of values that can be told from the text."""

    LAMBDA = "lambda"
    DICT = "dict"
    NEGATIVE = "negative"
    WITH = "with"
    """Not an argument: the call is the subject of a with statement."""


@dataclass(frozen=True, slots=True)
class Rename:
    """What became of a name or keyword.

    Attributes:
        old: The name, by its usual alias; or the keyword.
        new: What to write instead, the best first.
        since: The first JAX without it, or None if no JAX had it.
        note: What else is different, or "".
        callable: For a keyword, what took it.
    """

    old: str
    new: tuple[str, ...] = ()
    since: str | None = None
    note: str = ""
    callable: str = ""


@dataclass(frozen=True, slots=True)
class Misuse:
    """A value that a parameter does not take.

    Attributes:
        callable: What is called, by its usual alias.
        argument: The parameter; "" for a with statement.
        given: The kind of value.
        new: What to write instead.
        since: The first JAX that refuses it, or None if every one does.
        note: Why.
        error: A pattern of what JAX says at run time, or "".
    """

    callable: str
    argument: str
    given: Shape
    new: tuple[str, ...] = ()
    since: str | None = None
    note: str = ""
    error: str = ""


class Renames:
    """Finds replacements for what is gone.

    Args:
        names: Renamed names.
        keywords: Renamed keywords.
        misuses: Values that are not taken.
    """

    def __init__(
        self, names: Iterable[Rename] = (), keywords: Iterable[Rename] = (), misuses: Iterable[Misuse] = ()
    ) -> None:
        self.names: dict[str, Rename] = {}
        self.keywords: dict[tuple[str, str], Rename] = {}
        self.misuses = tuple(misuses)
        for rename in names:
            self.names.setdefault(rename.old, rename)
        for rename in keywords:
            self.keywords.setdefault((rename.callable, rename.old), rename)
        self._before: dict[str, list[str]] = {}
        for rename in self.names.values():
            for new in rename.new:
                self._before.setdefault(new, []).append(rename.old)

    def name_advice(self, table: SymbolTable, owner: Symbol, name: str) -> tuple[str, str]:
        """Return what is wrong with `owner.name`, which does not exist, and what to write instead."""
        full = f"{shown(owner.name)}.{name}"
        said = table.gone_message(owner, name)
        rename = self.names.get(full)
        if rename is not None:
            gone = is_since(table, rename.since)
            message = f"{full} is gone since jax {rename.since}" if gone else f"jax {table.jax} has no {full}"
            usable = [new for new in rename.new if not is_api_name(new) or table.has(new)]
            if usable or rename.note:
                return message, _suggestion(usable, rename.note)
            return message, _suggestion(self._near(table, owner, name), "")
        if said:
            return f"{full} is gone", said
        older = [old for old in self._before.get(full, ()) if table.has(old)]
        if older:
            return f"jax {table.jax} has no {full} yet", _suggestion(older, "")
        return f"jax {table.jax} has no {full}", _suggestion(self._near(table, owner, name), "")

    @staticmethod
    def _near(table: SymbolTable, owner: Symbol, name: str) -> list[str]:
        """Return where else the very name is, or else names of the owner that look like it."""
        if isinstance(owner, Module):
            elsewhere = [
                f"{shown(module)}.{name}"
                for module in _SEARCHED
                if module != owner.name and name in table.modules.get(module, {}).get("names", {})
            ]
            elsewhere = [found for found in elsewhere if table.has(found)]
            if elsewhere:
                return elsewhere[:_MAX_SHOWN]
        names = table.names(owner)
        if isinstance(owner, Class) and table.is_enum(owner) and len(names) <= 8:
            return [f"{owner.name}.{found}" for found in names]
        lowered = {found.lower(): found for found in names}
        close = difflib.get_close_matches(name, names, n=_MAX_SHOWN, cutoff=_NEAR)
        if name.lower() in lowered:
            close = [lowered[name.lower()]]
        return [f"{shown(owner.name)}.{found}" for found in close]

    def keyword_advice(self, table: SymbolTable, target: str, keyword: str, parameters: Parameters) -> tuple[str, str]:
        """Return what is wrong with a keyword that `target` does not take, and what to write instead."""
        message = f"{target} has no keyword '{keyword}'"
        rename = self.keywords.get((target, keyword))
        if rename is not None:
            if is_since(table, rename.since):
                message += f" since jax {rename.since}"
            usable = [new for new in rename.new if new in parameters.keywords or not new.isidentifier()]
            if usable or rename.note:
                return message, _suggestion([f"{n}=" if n.isidentifier() else n for n in usable], rename.note)
        older = [old for (name, old), item in self.keywords.items() if name == target and keyword in item.new]
        usable = [old for old in older if old in parameters.keywords]
        public = [name for name in parameters.keywords if not name.startswith("_")]
        close = usable or difflib.get_close_matches(keyword, public, n=_MAX_SHOWN, cutoff=0.6)
        if close:
            return message, _suggestion([f"{name}=" for name in close], "")
        return message, f"it takes {', '.join(public)}" if public else "it takes no keywords"


def is_shape(node: ast.expr, shape: Shape) -> bool:
    """Return whether an expression certainly is a value of a kind."""
    if shape is Shape.LAMBDA:
        return isinstance(node, ast.Lambda)
    if shape is Shape.DICT:
        call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict"
        return call or isinstance(node, ast.Dict)
    if shape is Shape.NEGATIVE:
        negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        return negated and isinstance(node.operand, ast.Constant) and node.operand.value != 0  # type: ignore[attr-defined]
    return False


def _suggestion(new: Iterable[str], note: str) -> str:
    listed = " or ".join(new)
    text = f"use {listed}" if listed else ""
    return f"{text} ({note})" if text and note else text or note


def is_since(table: SymbolTable, since: str | None) -> bool:
    """Return whether the table's JAX is at or after a version."""
    if since is None:
        return False
    from packaging.version import InvalidVersion, Version

    try:
        return Version(table.jax) >= Version(since)
    except InvalidVersion:
        return True


def is_api_name(text: str) -> bool:
    """Return whether a replacement is a dotted name of the API, by its usual alias or in full."""
    return _NAME.fullmatch(text) is not None and text.split(".")[0] in (*ALIASES, "jax")


def load_renames(corpus: Path, documents: Iterable[Document] = ()) -> Renames:
    """Return the renames of a corpus folder: its table, and the earlier names its cards state.

    Args:
        corpus: The folder; its table is `renames.yaml`, which may be absent.
        documents: Documents of other layers, whose `was` count as well.

    Raises:
        RagctxError: If the table or a card's front matter is not of the right form.
    """
    path = corpus / FILE
    data = _parse(path) if path.is_file() else {}
    cards = [_rename_of(symbol, was.name, was.until) for symbol, was in _earlier_names(corpus)]
    for document in documents:
        cards += [_rename_of(_symbol_of(document), was.name, was.until) for was in document.was]
    return Renames(
        [*(_rename(item, path, ("old",)) for item in _list(data, "names", path)), *cards],
        [_rename(item, path, ("callable", "old")) for item in _list(data, "keywords", path)],
        [_misuse(item, path) for item in _list(data, "arguments", path)],
    )


def _rename_of(symbol: str, old: str, until: str | None) -> Rename:
    return Rename(old, (symbol,), until)


def _symbol_of(document: Document) -> str:
    return document.symbols[0] if document.symbols else document.id.partition("/")[2]


def _earlier_names(corpus: Path) -> list[tuple[str, Any]]:
    """Read `was` from the cards that have one; the other cards are not parsed, for speed."""
    from ragctx.corpus import frontmatter

    found = []
    for path in sorted((corpus / "api").glob("*.md")):
        text = read_text(path)
        split = frontmatter.split_markdown(text)
        if split.block is None or not re.search(r"^was\s*:", split.block, re.MULTILINE):
            continue
        where = f"api/{path.name}"
        matter = frontmatter.read(
            frontmatter.parse(split.block, line=split.line, where=where), where=where, title=path.stem
        )
        found += [(matter.symbols[0] if matter.symbols else path.stem, was) for was in matter.was]
    return found


def _parse(path: Path) -> Mapping[str, Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(read_text(path, what="table of renames"), loader)
    except yaml.YAMLError as error:
        raise RagctxError(f"not valid YAML: {error}", where=str(path)) from None
    if not isinstance(data, dict) or not set(data) <= {"names", "keywords", "arguments"}:
        raise RagctxError("must hold 'names', 'keywords' and 'arguments'", where=str(path))
    return data


def _list(data: Mapping[str, Any], key: str, path: Path) -> list[Any]:
    found = data.get(key, [])
    if not isinstance(found, list):
        raise RagctxError(f"'{key}' must be a list", where=str(path))
    return found


def _fields(item: Any, path: Path, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(item, dict) or not set(required) <= set(item) <= {*required, *optional}:
        keys = ", ".join([*required, *(f"[{key}]" for key in optional)])
        raise RagctxError(f"an entry must be a mapping of {keys}: {item}", where=str(path))
    new = item.get("new", [])
    texts = [*(value for key, value in item.items() if key != "new"), *(new if isinstance(new, list) else [None])]
    if not all(isinstance(text, str) for text in texts):
        raise RagctxError(f"every value must be text, 'new' a list of texts: {item}", where=str(path))
    return {**item, "new": tuple(new)}


def _rename(item: Any, path: Path, required: tuple[str, ...]) -> Rename:
    return Rename(**_fields(item, path, required, ("new", "since", "note")))


def _misuse(item: Any, path: Path) -> Misuse:
    fields = _fields(item, path, ("callable", "argument", "given"), ("new", "since", "note", "error"))
    try:
        return Misuse(**{**fields, "given": Shape(fields["given"])})
    except ValueError:
        kinds = ", ".join(Shape)
        raise RagctxError(f"'given' must be one of {kinds}: {fields['given']}", where=str(path)) from None
