"""Front matter: the YAML block that says what a document is about. Strict: what is not understood is an error.

Every error names the file, the line and the key. YAML's own types are not trusted for versions: `jax: 0.10` is a
float to YAML, so versions are read as they are written.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ragctx import targets
from ragctx.corpus.document import Kind, Renamed
from ragctx.corpus.patterns import compile_pattern
from ragctx.errors import RagctxError

# A PyYAML node; its stubs leave out `id`.
_Node = Any

MAX_BLOCK_CHARS = 65_536
NOT_A_MAPPING = "front matter must be 'key: value' lines"

_ID = re.compile(rf"(?:{'|'.join(Kind)})/\S(?:.*\S)?")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_DOCSTRING = re.compile(r"(?P<prefix>[rRuU]?)(?P<quote>\"\"\"|''')(?P<text>.*)(?P=quote)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The values of a front-matter block; see `Document` for what each means."""

    title: str
    tags: tuple[str, ...] = ()
    primitives: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    requires: Mapping[str, str] = field(default_factory=dict)
    triggers: tuple[str, ...] = ()
    always: bool = False
    related: tuple[str, ...] = ()
    was: tuple[Renamed, ...] = ()
    raises: str | None = None
    source: str | None = None
    verified: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a block.

    Attributes:
        key: The key.
        line: Number of its line in the file.
        node: Its value as a YAML node.
        first_line: Number of the block's first line in the file, which the node's own line counts from.
    """

    key: str
    line: int
    node: _Node
    first_line: int


@dataclass(frozen=True, slots=True)
class Split:
    """A text taken apart.

    Attributes:
        block: The YAML text, or None if there is no front matter.
        body: What is left, starting with something visible.
        line: Number of the block's first line in the file, from 1.
        closed: False where a block was opened and never closed (`block` is then None).
    """

    block: str | None
    body: str
    line: int = 1
    closed: bool = True


def split_markdown(text: str) -> Split:
    """Take the `---` block on line 1 off a Markdown text."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return Split(None, text)
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() in ("---", "..."):
            return Split("\n".join(lines[1:number]), _body(lines[number + 1 :]), line=2)
    return Split(None, text, closed=False)


def split_python(source: str, *, where: str) -> Split:
    """Take the `---` block at the beginning of the module docstring off Python source; the rest of it stays.

    Raises:
        RagctxError: If the source does not parse, or the docstring is not one plain triple-quoted string.
    """
    docstring = _docstring(source, where)
    if docstring is None or not docstring.value.lstrip().startswith("---"):
        return Split(None, source)
    segment = ast.get_source_segment(source, docstring.node) or ""
    match = _DOCSTRING.fullmatch(segment)
    if match is None:
        raise RagctxError(
            "front matter must stand in one triple-quoted docstring", where=f"{where}:{docstring.node.lineno}"
        )
    inner = split_markdown(docstring.value.lstrip())
    # The remaining text is cut from the source, not from the value, so that its escapes stay as written.
    text = match["text"].removeprefix("\\\n").lstrip()
    first = docstring.node.lineno + match["text"].removesuffix(text).count("\n")
    if inner.block is None:
        return Split(None, source, line=first, closed=inner.closed)
    raw = split_markdown(text)
    rest = raw.body.rstrip()
    quoted = f"{match['prefix']}{match['quote']}{rest}\n{match['quote']}" if rest else ""
    start = source.index(segment, sum(len(text) + 1 for text in source.split("\n")[: docstring.node.lineno - 1]))
    before, after = source[:start], source[start + len(segment) :]
    return Split(inner.block, _body(f"{before}{quoted}{after}".split("\n")), line=first + 1)


def parse(block: str, *, line: int, where: str) -> dict[str, Entry]:
    """Return the block's entries by key.

    Args:
        block: YAML text.
        line: Number of its first line in the file.
        where: The file, for errors.

    Raises:
        RagctxError: If it is not YAML, not a mapping, too large, or names a key twice.
    """
    import yaml

    if len(block) > MAX_BLOCK_CHARS:
        raise RagctxError(f"front matter is longer than {MAX_BLOCK_CHARS} characters", where=f"{where}:{line}")
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = yaml.compose(block, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = line + (mark.line if mark else 0)
        said = error.problem or error.context or "cannot be read"
        raise RagctxError(
            f"front matter is not YAML: {said}", where=f"{where}:{at}", remedy="quote text that holds ': ' or '#'"
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        said = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise RagctxError(f"front matter is not YAML: {said}", where=f"{where}:{line}") from None
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode):
        raise RagctxError(NOT_A_MAPPING, where=f"{where}:{line}")
    entries: dict[str, Entry] = {}
    for key_node, value_node in node.value:
        at = line + key_node.start_mark.line
        if not isinstance(key_node, yaml.ScalarNode):
            raise RagctxError("a key must be a word", where=f"{where}:{at}")
        key = str(key_node.value)
        if key in entries:
            raise RagctxError(
                f"key '{key}' is given twice", where=f"{where}:{at}", remedy=f"line {entries[key].line} has it already"
            )
        entries[key] = Entry(key, at, value_node, line)
    return entries


def near_key(key: str) -> str | None:
    """Return the key of ours that an unknown key is probably meant to be."""
    import difflib

    close = difflib.get_close_matches(key.lower(), _READERS, n=1, cutoff=0.75)
    return close[0] if close else None


def is_key(key: str) -> bool:
    """Return whether `key` is one of ours."""
    return key in _READERS


def read(entries: Mapping[str, Entry], *, where: str, first_line: int = 1, title: str | None = None) -> FrontMatter:
    """Return the values of a block, every key of which must be ours.

    Args:
        entries: The block.
        where: The file, for errors.
        first_line: The line that a missing title is missing from.
        title: What to take where the block has no title; None makes that an error.

    Raises:
        RagctxError: For an unknown key, a missing title, a wrong type, an unusable pattern, an unknown target or a bad
            version specifier.
    """
    values: dict[str, Any] = {}
    for key, entry in entries.items():
        if key not in _READERS:
            near = near_key(key)
            remedy = f"did you mean '{near}'" if near else f"the keys are: {', '.join(_READERS)}"
            raise RagctxError(f"unknown key '{key}'", where=f"{where}:{entry.line}", remedy=remedy)
        values[key] = _READERS[key](_Reader(entry, where))
    if values.setdefault("title", title) is None:
        raise RagctxError("front matter has no 'title'", where=f"{where}:{first_line}", remedy="add a 'title' line")
    return FrontMatter(**values)


def text_of(entry: Entry | None) -> str | None:
    """Return a foreign entry's text on one line, or None if it is not plain text."""
    if entry is None or entry.node.id != "scalar" or entry.node.tag.endswith(":null"):
        return None
    return " ".join(str(entry.node.value).split()) or None


def words_of(entry: Entry | None) -> tuple[str, ...]:
    """Return a foreign entry's words: a list of plain texts, or one text split at commas, else at spaces."""
    if entry is None:
        return ()
    if entry.node.id == "sequence":
        words = [str(item.value) for item in entry.node.value if item.id == "scalar"]
    else:
        text = text_of(entry) or ""
        words = text.split(",") if "," in text else text.split()
    return tuple(dict.fromkeys(word for word in (" ".join(w.split()) for w in words) if word))


class _Reader:
    """Reads one entry, or says what is wrong with it."""

    def __init__(self, entry: Entry, where: str) -> None:
        self._entry = entry
        self._where = where

    def text(self) -> str:
        return self._scalar(self._entry.node, "text", ("str",))

    def flag(self) -> bool:
        return self._scalar(self._entry.node, "true or false", ("bool",)).lower() in ("true", "yes", "on")

    def texts(self) -> tuple[str, ...]:
        node = self._entry.node
        if node.id != "sequence":
            self._wrong("a list of texts, such as [a, b]", node)
        expected = "a list of texts (quote what looks like a number)"
        return tuple(self._scalar(item, expected, ("str",)) for item in node.value)

    def targets(self) -> tuple[str, ...]:
        return self._each(targets.get)

    def triggers(self) -> tuple[str, ...]:
        return self._each(compile_pattern)

    def ids(self) -> tuple[str, ...]:
        def check(text: str) -> None:
            if not _ID.fullmatch(text):
                raise ValueError(f"not a document id (such as {Kind.API}/pl.BlockSpec)")

        return self._each(check)

    def file_name(self) -> str:
        name = self.text()
        if not name.endswith(".raises.py") or "/" in name or "\\" in name:
            self._fail(f"'{name}' is not the name of a '.raises.py' file beside this one", self._entry.node)
        return name

    def specifiers(self) -> Mapping[str, str]:
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        found = self._versions()
        for name, (text, node) in found.items():
            try:
                SpecifierSet(text)
            except InvalidSpecifier:
                self._fail(f"'{text}' is no version specifier for {name} (write such as '>=0.7,<0.9')", node)
        return {name: text for name, (text, _) in found.items()}

    def versions(self) -> Mapping[str, str]:
        from packaging.version import InvalidVersion, Version

        found = self._versions()
        for name, (text, node) in found.items():
            try:
                Version(text)
            except InvalidVersion:
                self._fail(f"'{text}' is no version of {name}", node)
        return {name: text for name, (text, _) in found.items()}

    def renamed(self) -> tuple[Renamed, ...]:
        node = self._entry.node
        expected = "a list of {name: ..., until: ...}"
        if node.id != "sequence":
            self._wrong(expected, node)
        found = []
        for item in node.value:
            if item.id != "mapping":
                self._wrong(expected, item)
            fields = {str(key.value): value for key, value in item.value}
            if not {"name"} <= set(fields) <= {"name", "until"} or len(fields) != len(item.value):
                self._wrong(expected, item)
            until = fields.get("until")
            found.append(
                Renamed(
                    self._scalar(fields["name"], expected, ("str",)),
                    None if until is None else self._scalar(until, expected, ("str", "float", "int")),
                )
            )
        return tuple(found)

    def _each(self, check: Callable[[str], object]) -> tuple[str, ...]:
        """Return the texts, each of which `check` takes without raising."""
        texts = self.texts()
        for text, item in zip(texts, self._entry.node.value, strict=True):
            try:
                check(text)
            except ValueError as error:
                self._fail(f"'{text}': {error}", item)
            except RagctxError as error:
                raise RagctxError(
                    f"key '{self._entry.key}': {error.problem}", where=self._at(item), remedy=error.remedy
                ) from None
        return texts

    def _versions(self) -> dict[str, tuple[str, _Node]]:
        node = self._entry.node
        expected = "a mapping from package to version, such as {jax: '0.10.2'}"
        if node.id != "mapping":
            self._wrong(expected, node)
        found: dict[str, tuple[str, _Node]] = {}
        for key, value in node.value:
            name = self._scalar(key, expected, ("str",))
            if not _DISTRIBUTION.fullmatch(name):
                self._fail(f"'{name}' is not the name of a package", key)
            if name in found:
                self._fail(f"'{name}' is given twice", key)
            found[name] = (self._scalar(value, expected, ("str", "float", "int")), value)
        return dict(sorted(found.items()))

    def _scalar(self, node: _Node, expected: str, tags: tuple[str, ...]) -> str:
        if node.id != "scalar" or node.tag.rpartition(":")[2] not in tags:
            self._wrong(expected, node)
        # Runs of spaces count in a pattern; elsewhere a folded line is one line.
        text = str(node.value).strip("\n") if self._entry.key == "triggers" else " ".join(str(node.value).split())
        if not text:
            self._wrong(f"{expected}, and not empty", node)
        return text

    def _wrong(self, expected: str, node: _Node) -> NoReturn:
        self._fail(f"must be {expected}", node)

    def _fail(self, said: str, node: _Node) -> NoReturn:
        raise RagctxError(f"key '{self._entry.key}': {said}", where=self._at(node))

    def _at(self, node: _Node) -> str:
        # An absent value has no place of its own: its mark is wherever the next thing begins.
        at = self._entry.first_line + node.start_mark.line if node.value else self._entry.line
        return f"{self._where}:{at}"


_READERS: Mapping[str, Callable[[_Reader], object]] = {
    "title": _Reader.text,
    "tags": _Reader.texts,
    "primitives": _Reader.texts,
    "symbols": _Reader.texts,
    "targets": _Reader.targets,
    "requires": _Reader.specifiers,
    "triggers": _Reader.triggers,
    "always": _Reader.flag,
    "related": _Reader.ids,
    "was": _Reader.renamed,
    "raises": _Reader.file_name,
    "source": _Reader.text,
    "verified": _Reader.versions,
}


@dataclass(frozen=True, slots=True)
class _Docstring:
    node: ast.Constant
    value: str


def _docstring(source: str, where: str) -> _Docstring | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except SyntaxError as error:
        raise RagctxError(f"Python syntax error: {error.msg}", where=f"{where}:{error.lineno or 1}") from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise RagctxError(f"cannot be parsed as Python: {error}", where=where) from None
    first = tree.body[0] if tree.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return _Docstring(first.value, first.value.value)
    return None


def _body(lines: list[str]) -> str:
    """Return the text without blank lines before it."""
    start = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[start:])
