"""The API reference of installed packages: one document a public symbol, read in a child process at build time.

What stands in other people's docstrings is data: it reaches a document with its headings, fences and comments made
plain, so that it can neither end a section of ours nor swallow one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ragctx.children import run_script
from ragctx.corpus.document import GENERATED_LAYER, REFERENCE_HEADING, Document, Kind, Renamed
from ragctx.corpus.inert import inert, one_line
from ragctx.corpus.markdown import blocks, closing_fence, fence_for
from ragctx.errors import RagctxError

DEFAULT_MODULES = (
    "jax.experimental.pallas",
    "jax.experimental.pallas.tpu",
    "jax.experimental.pallas.tpu_sc",
)
_USUAL_ALIASES: Mapping[str, str] = {
    "jax.experimental.pallas": "pl",
    "jax.experimental.pallas.tpu": "pltpu",
    "jax.experimental.pallas.tpu_sc": "plsc",
    "jax.numpy": "jnp",
    "numpy": "np",
}
_MODULE_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_LINE_CHARS = 100


@dataclass(frozen=True, slots=True)
class ApiReference:
    """What installed packages say of themselves.

    Attributes:
        documents: One a public symbol, in order of their ids.
        versions: Versions by distribution name (`python` for the standard library).
        notes: Modules that are absent, and what else a reader should know, one line each.
    """

    documents: tuple[Document, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A document that is not for the installed versions, and why."""

    document: Document
    reason: str


@dataclass(frozen=True, slots=True)
class Filtered:
    """Documents that are for the installed versions, and those that are not; both in the order given."""

    documents: tuple[Document, ...]
    left_out: tuple[LeftOut, ...]


def read_api(
    modules: Sequence[str] = DEFAULT_MODULES,
    python: str | None = None,
    *,
    path: Sequence[str | Path] = (),
    distributions: Sequence[str] = (),
    timeout_s: float = 300.0,
) -> ApiReference:
    """Read the public symbols of modules: signatures, fields, members, methods, docstrings.

    Public is what `__all__` says, or else what the module defines or re-exports by name. A symbol reachable under
    several names is one document, under `pl` if it is there, else the module that defines it. A package with nothing
    public of its own is read module by module.

    Args:
        modules: Dotted names. One of the default modules that is absent is a note; any other an error.
        python: Interpreter whose packages are read; this one by default.
        path: Folders to import from before the interpreter's own.
        distributions: More distributions whose versions are wanted.
        timeout_s: Wall-clock seconds the child may take.

    Raises:
        RagctxError: If a module is not there or its import fails, or the interpreter cannot be run.
    """
    for name in modules:
        if not _MODULE_NAME.fullmatch(name):
            raise RagctxError("not the name of a module", where=f"'{name}'", remedy="write such as acme.kernels")
    request = {
        "modules": list(dict.fromkeys(modules)),
        "path": [str(Path(folder).resolve()) for folder in path],
        "distributions": sorted(set(distributions)),
    }
    result = run_script("api_reference.py", request, python=python, timeout_s=timeout_s)
    if not isinstance(result.answer, dict):
        said = f"took longer than {timeout_s:g} s" if result.timed_out else _last_line(result.stderr, result.status)
        raise RagctxError(f"reading the API of {', '.join(modules)} failed: {said}", where=python)
    return _reference(result.answer, modules, python)


def merge(curated: Iterable[Document], generated: Iterable[Document]) -> tuple[Document, ...]:
    """Lay curated cards over generated reference, in order of ids.

    On the same id (or the id of another name of the same symbol) the card comes first and the reference follows under
    `## Reference (jax X.Y.Z)`, without its signature where the card has that already.
    """
    merged = {document.id: document for document in curated}
    for document in generated:
        names = (document.id, *(f"{Kind.API}/{symbol}" for symbol in document.symbols))
        card_id = next((name for name in names if name in merged), None)
        if card_id is None:
            merged[document.id] = document
        elif merged[card_id].language == "markdown":
            merged[card_id] = _with_reference(merged[card_id], document)
    return tuple(merged[key] for key in sorted(merged))


def filter_by_requires(documents: Iterable[Document], versions: Mapping[str, str]) -> Filtered:
    """Leave out the documents whose `requires` excludes an installed version; an unknown version excludes nothing."""
    from packaging.specifiers import SpecifierSet
    from packaging.utils import canonicalize_name
    from packaging.version import InvalidVersion, Version

    known: dict[str, Version] = {}
    for name, text in versions.items():
        try:
            known[canonicalize_name(name)] = Version(text)
        except InvalidVersion:
            continue
    kept: list[Document] = []
    left_out: list[LeftOut] = []
    for document in documents:
        reasons = [
            f"requires {name} {specifier}, installed is {known[canonicalize_name(name)]}"
            for name, specifier in sorted(document.requires.items())
            if canonicalize_name(name) in known
            and not SpecifierSet(specifier).contains(known[canonicalize_name(name)], prereleases=True)
        ]
        if reasons:
            left_out.append(LeftOut(document, "; ".join(reasons)))
        else:
            kept.append(document)
    return Filtered(tuple(kept), tuple(left_out))


def _last_line(stderr: str, status: int) -> str:
    lines = [line for line in stderr.splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"exit status {status}"


@dataclass(frozen=True, slots=True)
class _Name:
    """One name of a symbol: where it was found, and what the child said of it there."""

    module: str
    alias: str
    order: int
    said: Mapping[str, Any]

    @property
    def qualified(self) -> str:
        return f"{self.alias}.{self.said['name']}"


def _reference(answer: Mapping[str, Any], modules: Sequence[str], python: str | None) -> ApiReference:
    notes = [one_line(note) for note in answer["notes"]]
    versions = {str(name): str(version) for name, version in sorted(answer["versions"].items())}
    aliases = _aliases([str(module["name"]) for module in answer["modules"]], notes)
    groups: dict[int, list[_Name]] = {}
    distributions: dict[str, str | None] = {}
    for order, module in enumerate(answer["modules"]):
        name = str(module["name"])
        if module["status"] != "ok":
            _absent(module, named=name in modules, python=python, notes=notes)
            continue
        distributions[name] = module["distribution"]
        if not module["symbols"] and not any(other.startswith(f"{name}.") for other in aliases):
            notes.append(f"{name} has no public symbols")
        for symbol in module["symbols"]:
            groups.setdefault(symbol["object"], []).append(_Name(name, aliases[name], order, symbol))
    documents = {}
    for names in groups.values():
        document = _document(sorted(names, key=_preference), distributions, versions)
        documents[document.id] = document
    return ApiReference(tuple(documents[key] for key in sorted(documents)), versions, tuple(notes))


def _absent(module: Mapping[str, Any], *, named: bool, python: str | None, notes: list[str]) -> None:
    """Note a module that could not be read, or raise where it was asked for by name."""
    name, error = str(module["name"]), one_line(str(module["error"]))
    if module["status"] == "missing" and name in DEFAULT_MODULES:
        notes.append(f"{name} is not in this environment")
    elif not named:
        notes.append(f"{name} left out, its import failed: {error}")
    elif module["status"] == "missing":
        raise RagctxError(
            f"no module '{name}' ({error})",
            where=python,
            remedy="install it there, or name another environment's Python with --python",
        )
    else:
        raise RagctxError(f"importing '{name}' failed: {error}", where=python, remedy="make it importable first")


def _aliases(modules: Sequence[str], notes: list[str]) -> dict[str, str]:
    """Return each module's alias: the usual one, else its last name, else, where that is taken, its whole name."""
    aliases: dict[str, str] = {}
    for name in sorted(modules, key=lambda name: name not in _USUAL_ALIASES):
        alias = _USUAL_ALIASES.get(name, name.rpartition(".")[2])
        if alias in aliases.values():
            notes.append(f"{name} stands under its whole name, since '{alias}' is taken")
            alias = name
        aliases[name] = alias
    return aliases


def _preference(name: _Name) -> tuple[bool, int, bool, bool, int, str]:
    said = name.said
    rank = DEFAULT_MODULES.index(name.module) if name.module in DEFAULT_MODULES else len(DEFAULT_MODULES)
    return (
        said["deprecated_name"] is not None,
        rank,
        said["defined_in"] != name.module,
        said["own_name"] != said["name"],
        name.order,
        str(said["name"]),
    )


def _document(names: Sequence[_Name], distributions: Mapping[str, str | None], versions: Mapping[str, str]) -> Document:
    first = names[0]
    current = [name for name in names if name.said["deprecated_name"] is None] or [first]
    symbols = tuple(dict.fromkeys(name.qualified for name in current))
    gone = [name for name in names if name not in current]
    distribution = distributions[first.module]
    version = versions.get(distribution) if distribution else None
    return Document(
        id=f"{Kind.API}/{first.qualified}",
        kind=Kind.API,
        title=", ".join(symbols),
        body=_body(first, symbols, gone),
        symbols=symbols,
        was=tuple(Renamed(name.qualified) for name in gone),
        source=f"{first.module}.{first.said['name']}" + (f" ({distribution} {version})" if version else ""),
        verified={distribution: version} if distribution and version else {},
        layer=GENERATED_LAYER,
    )


_KIND_WORDS = {"function": "Function", "class": "Class", "enum": "Enum", "module": "Module", "type": "Type"}


def _body(name: _Name, symbols: Sequence[str], gone: Sequence[_Name]) -> str:
    """Return the generated Markdown of one symbol."""
    said = name.said
    what = _KIND_WORDS.get(said["kind"], f"Constant of type `{said['type']}`")
    is_plain = said["fields"] and _parameter_names(said["signature"]) >= {item["name"] for item in said["fields"]}
    if is_plain:
        what = "Class whose parameters are its fields,"
    also = f"; also {', '.join(f'`{symbol}`' for symbol in symbols[1:])}" if len(symbols) > 1 else ""
    parts = [f"# {', '.join(symbols)}", f"{what} in `{name.module}`{also}."]
    for message in dict.fromkeys(filter(None, (said["deprecated"], said["deprecated_name"]))):
        parts.append(f"Deprecated: {one_line(message)}")
    for old in gone:
        parts.append(f"Deprecated name `{old.qualified}`: {one_line(old.said['deprecated_name'])}")
    lines = [] if said["value"] is None else [f"{name.qualified} = {one_line(said['value'])}"]
    if said["signature"] is not None:
        lines.append(_wrapped(name.qualified, one_line(said["signature"])))
    if lines:
        code = "\n".join(lines)
        fence = fence_for(code)
        parts.append(f"{fence}python\n{code}\n{fence}")
    if said["doc"].strip():
        parts.append(_prose(said["doc"]))
    if said["fields"] and not is_plain:
        parts += ["### Fields", "\n".join(_field(item) for item in said["fields"])]
    if said["members"]:
        parts += ["### Members", "\n".join(_member(*item) for item in said["members"])]
    if said["methods"]:
        parts += ["### Methods", "\n".join(_method(item) for item in said["methods"])]
    return "\n\n".join(parts) + "\n"


def _parameter_names(signature: str | None) -> set[str]:
    parameters = _split_signature(one_line(signature or "")).parameters
    return {re.split(r"[:=]", parameter.lstrip("*"), maxsplit=1)[0].strip() for parameter in parameters}


def _code(text: str) -> str:
    """Return an inline code span that its own backticks do not end."""
    text = one_line(text)
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _field(item: Mapping[str, Any]) -> str:
    kind = f": {item['type']}" if item["type"] else ""
    default = f" = {item['default']}" if item["default"] is not None else ""
    return f"- {_code(str(item['name']) + kind + default)}"


def _member(name: str, value: str | None) -> str:
    return f"- {_code(name if value is None else f'{name} = {value}')}"


def _method(item: Mapping[str, Any]) -> str:
    signature = "(...)" if item["signature"] is None else item["signature"]
    about = f": {_prose(one_line(item['doc']))}" if item["doc"] else ""
    return f"- {_code(str(item['name']) + signature)}{about}"


def _wrapped(name: str, signature: str) -> str:
    """Return the call on one line, or a parameter a line where that is too long."""
    line = name + signature
    if len(line) <= _LINE_CHARS:
        return line
    split = _split_signature(signature)
    if not split.parameters:
        return line
    return f"{name}(\n" + "".join(f"    {parameter},\n" for parameter in split.parameters) + f"){split.result}"


@dataclass(frozen=True, slots=True)
class _Signature:
    parameters: tuple[str, ...]
    result: str


def _split_signature(signature: str) -> _Signature:
    """Split `(a: T = f(1, 2), *, b) -> R` into its parameters and what follows them."""
    depth, start, quote = 0, 1, ""
    parts: list[str] = []
    for at, char in enumerate(signature):
        if quote:
            quote = "" if char == quote and signature[at - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                parts.append(signature[start:at].strip())
                return _Signature(tuple(part for part in parts if part), signature[at + 1 :])
        elif char == "," and depth == 1:
            parts.append(signature[start:at].strip())
            start = at + 1
    return _Signature((), "")


def _prose(doc: str) -> str:
    """Return foreign text as Markdown that has no structure of ours: no headings, no comments, no open fence."""
    text = inert(doc).replace("<!--", "<\\!--").strip()
    lines = text.split("\n")
    for block in reversed(blocks(text)):
        if not block.level:
            continue
        underlined = "\n" in block.text
        last = block.line + block.text.count("\n")
        if underlined:
            lines[last - 1] = f"{lines[last - 1].rstrip().rstrip(':')}:"
            del lines[last]
        else:
            hashes = lines[block.line].lstrip()
            lines[block.line] = f"\\{hashes}"
    text = "\n".join(lines)
    fence = closing_fence(text)
    return f"{text}\n{fence}" if fence else text


_REFERENCE_CODE = re.compile(r"\n\n(`{3,})python\n(.*?)\n\1(?=\n)", re.DOTALL)


def _with_reference(card: Document, generated: Document) -> Document:
    """Return the card with the generated reference under it."""
    body = generated.body.partition("\n\n")[2]
    match = _REFERENCE_CODE.search(f"\n\n{body}")
    symbol = generated.id.partition("/")[2]
    if match and _has_signature(card.body, symbol, match[2]):
        body = (f"\n\n{body}"[: match.start()] + f"\n\n{body}"[match.end() :]).lstrip("\n")
    versions = ", ".join(f"{name} {version}" for name, version in sorted(generated.verified.items()))
    heading = f"{REFERENCE_HEADING} ({versions})" if versions else REFERENCE_HEADING
    fence = closing_fence(card.body)
    own = card.body.rstrip() + (f"\n{fence}" if fence else "")
    return replace(
        card,
        body=f"{own}\n\n{heading}\n\n{body.rstrip()}\n",
        symbols=tuple(dict.fromkeys((*card.symbols, *generated.symbols))),
        was=tuple(dict.fromkeys((*card.was, *(old for old in generated.was if old.name not in _names(card.was))))),
        source=card.source or generated.source,
    )


def _names(renamed: Iterable[Renamed]) -> frozenset[str]:
    return frozenset(old.name for old in renamed)


def _has_signature(card: str, symbol: str, code: str) -> bool:
    """Return whether the card writes the same call: the same parameters and defaults, whatever the annotations."""
    wanted = _skeleton(code[len(symbol) :])
    for match in re.finditer(rf"(?<![\w.]){re.escape(symbol)}\(", card):
        call = card[match.end() - 1 : match.end() + 20_000]
        if _skeleton(call) == wanted:
            return True
    return False


def _skeleton(signature: str) -> str:
    """Return a signature's parameters and defaults without annotations, in one spelling."""
    parameters = ", ".join(_split_signature(signature).parameters)
    try:
        arguments = ast.parse(f"def f({parameters}): ...").body[0].args  # type: ignore[attr-defined]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "".join(parameters.split())
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return ast.unparse(arguments)
