"""Reads the public symbols of importable modules. Run as `python -I api_reference.py REQUEST.json ANSWER.json`.

Request: `{"modules": [name...], "path": [folder...], "distributions": [name...]}`. Answer: `{"modules": [...],
"versions": {...}, "notes": [...]}`; a module is `{"name", "status": "ok" | "missing" | "failed", "error",
"distribution", "symbols"}`. Symbols that are one object share the number in `object`. Nothing in the answer depends
on memory addresses, set order or the clock.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import importlib.metadata
import inspect
import json
import pkgutil
import platform
import re
import sys
import types
import typing
import warnings

_MAX_DOC_CHARS = 30_000
_MAX_VALUE_CHARS = 120
_MAX_DEPTH = 5
_NOT_READ = frozenset({"conftest", "setup", "test", "tests", "testing"})
_SCALARS = (bool, int, float, complex, str, bytes, type(None))
_PLAIN = (*_SCALARS, tuple, list, dict, set, frozenset)
_TYPE_FORMS = (types.UnionType, types.GenericAlias, type(typing.List[int]), type(typing.Union[int, str]))  # noqa: UP006,UP007
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_DOTTED = re.compile(r"\b(?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*")
_FORWARD = re.compile(r"ForwardRef\('([^']*)'(?:, [^()]*)?\)")


def value_text(value: object, depth: int = 0) -> str:
    """Return a value as source code would name it: the same in every process."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return str(getattr(value, "__qualname__", type(value).__name__)).replace("<locals>.", "")
    if isinstance(value, _SCALARS) or depth > 3:
        text = repr(value) if isinstance(value, _SCALARS) else "..."
    elif isinstance(value, dict):
        text = ", ".join(f"{value_text(k, depth + 1)}: {value_text(v, depth + 1)}" for k, v in list(value.items())[:50])
        text = f"{{{text}}}"
    elif type(value) in (tuple, list, set, frozenset):
        parts = [value_text(item, depth + 1) for item in list(value)[:50]]  # type: ignore[call-overload]
        if isinstance(value, (set, frozenset)):
            text = f"{{{', '.join(sorted(value_text(item, depth + 1) for item in value))}}}"
        elif isinstance(value, tuple):
            text = f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        else:
            text = f"[{', '.join(parts)}]"
    else:
        try:
            text = " ".join(repr(value).split())
        except Exception:
            text = f"<{type(value).__name__}>"
        text = "..." if _ADDRESS.search(text) else shorten(text)
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}..."


def shorten(text: str) -> str:
    """Return a type's text without the paths that nobody writes: typing, builtins and private modules."""

    def last(match: re.Match[str]) -> str:
        parts = match.group().split(".")
        hidden = parts[0] in ("typing", "collections", "builtins", "types") or any(
            p.startswith("_") for p in parts[:-1]
        )
        return parts[-1] if hidden else match.group()

    text = _ADDRESS.sub("", " ".join(text.split()))
    return _DOTTED.sub(last, _FORWARD.sub(r"\1", text)).replace("NoneType", "None")


def annotation_text(annotation: object, names: typing.Mapping[str, object] = types.MappingProxyType({})) -> str:
    """Return an annotation as it would be written.

    Args:
        annotation: The annotation; text where its module postpones evaluation.
        names: The module's names, by which `pallas_core.GridSpec` is known to mean a private module's `GridSpec`.
    """
    if isinstance(annotation, str):

        def last(match: re.Match[str]) -> str:
            owner = names.get(match.group().split(".")[0])
            hidden = inspect.ismodule(owner) and ("._" in owner.__name__ or owner.__name__ in ("typing", "types"))
            return match.group().rpartition(".")[2] if hidden else match.group()

        return _DOTTED.sub(last, " ".join(annotation.split()))
    try:
        return shorten(inspect.formatannotation(annotation))
    except Exception:
        return shorten(value_text(annotation))


def signature_text(function: object, *, drop_first: bool = False) -> str | None:
    """Return a callable's parameters and result, or None if it tells none."""
    try:
        signature = inspect.signature(typing.cast(typing.Any, function))
    except Exception:
        return None
    names = getattr(inspect.unwrap(typing.cast(typing.Any, function)), "__globals__", {})
    if inspect.isclass(function):
        names = vars(sys.modules.get(function.__module__, types))
    parameters = list(signature.parameters.values())
    if drop_first and parameters and parameters[0].kind in (0, 1):
        del parameters[0]
    factories: dict[str, str] = {}
    if inspect.isclass(function) and dataclasses.is_dataclass(function):
        made = ((item.name, item.default_factory) for item in dataclasses.fields(function))
        factories = {name: f"{value_text(make)}()" for name, make in made if make is not dataclasses.MISSING}
    parts: list[str] = []
    slash = star = False
    for parameter in parameters:
        if parameter.kind is not inspect.Parameter.POSITIONAL_ONLY and slash:
            parts.append("/")
            slash = False
        slash = slash or parameter.kind is inspect.Parameter.POSITIONAL_ONLY
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        star = star or parameter.kind is inspect.Parameter.VAR_POSITIONAL
        # Only the starred kinds print their stars.
        text = str(parameter.replace(annotation=inspect.Parameter.empty, default=inspect.Parameter.empty))
        annotated = parameter.annotation is not inspect.Parameter.empty
        if annotated:
            text += f": {annotation_text(parameter.annotation, names)}"
        if parameter.default is not inspect.Parameter.empty:
            default = factories.get(parameter.name) or value_text(parameter.default)
            text += f"{' = ' if annotated else '='}{default}"
        parts.append(text)
    if slash:
        parts.append("/")
    result = signature.return_annotation
    arrow = "" if result is inspect.Signature.empty else f" -> {annotation_text(result, names)}"
    return f"({', '.join(parts)}){arrow}"


def doc_text(value: object) -> str:
    """Return the docstring that is the object's own, without what Python wrote for it."""
    if inspect.isclass(value):
        doc = value.__dict__.get("__doc__")
        generated = dataclasses.is_dataclass(value) or issubclass(value, tuple)
        if isinstance(doc, str) and generated and doc.startswith(f"{value.__name__}("):
            return ""
        if issubclass(value, enum.Enum) and doc == "An enumeration.":
            return ""
    else:
        doc = getattr(value, "__doc__", None)
        if not inspect.isroutine(value) and doc == getattr(type(value), "__doc__", None):
            return ""
    return inspect.cleandoc(doc)[:_MAX_DOC_CHARS] if isinstance(doc, str) else ""


def first_paragraph(doc: str) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join(doc.split("\n\n")[0].split())


def fields_of(cls: type) -> list[dict[str, str | None]]:
    """Return name, type and default of a dataclass's or named tuple's fields."""
    if dataclasses.is_dataclass(cls):
        found = []
        for item in dataclasses.fields(cls):
            default = None
            if item.default is not dataclasses.MISSING:
                default = value_text(item.default)
            elif item.default_factory is not dataclasses.MISSING:
                default = f"{value_text(item.default_factory)}()"
            if not item.name.startswith("_"):
                found.append(
                    {
                        "name": item.name,
                        "type": annotation_text(item.type, vars(sys.modules.get(cls.__module__, types))),
                        "default": default,
                    }
                )
        return found
    names = getattr(cls, "_fields", None)
    if issubclass(cls, tuple) and isinstance(names, tuple):
        annotations, defaults = getattr(cls, "__annotations__", {}), getattr(cls, "_field_defaults", {})
        return [
            {
                "name": str(name),
                "type": annotation_text(annotations[name]) if name in annotations else None,
                "default": value_text(defaults[name]) if name in defaults else None,
            }
            for name in names
        ]
    return []


def methods_of(cls: type, package: str) -> list[dict[str, str | None]]:
    """Return the public methods and properties that the class or a base of the same package defines."""
    found: dict[str, dict[str, str | None]] = {}
    for base in cls.__mro__:
        if (base.__module__ or "").split(".")[0] != package:
            continue
        for name, raw in base.__dict__.items():
            if (name.startswith("_") and name != "__call__") or name in found:
                continue
            if isinstance(raw, property):
                result = getattr(raw.fget, "__annotations__", {}).get("return")
                text = (
                    f": {annotation_text(result, getattr(raw.fget, '__globals__', {}))}" if result is not None else ""
                )
                found[name] = {"name": name, "signature": text, "doc": first_paragraph(doc_text(raw.fget))}
                continue
            function = raw.__func__ if isinstance(raw, (classmethod, staticmethod)) else raw
            if not inspect.isfunction(function):
                continue
            signature = signature_text(function, drop_first=not isinstance(raw, staticmethod))
            found[name] = {"name": name, "signature": signature, "doc": first_paragraph(doc_text(function))}
    return [found[name] for name in sorted(found)]


def describe(name: str, value: object, package: str) -> dict[str, typing.Any]:
    """Return what is known of one symbol."""
    symbol: dict[str, typing.Any] = {
        "name": name,
        "kind": "constant",
        "own_name": getattr(value, "__name__", None) if isinstance(getattr(value, "__name__", None), str) else None,
        "defined_in": getattr(value, "__module__", None)
        if isinstance(getattr(value, "__module__", None), str)
        else None,
        "signature": None,
        "doc": doc_text(value),
        "deprecated": getattr(value, "__deprecated__", None),
        "fields": [],
        "members": [],
        "methods": [],
        "type": type(value).__name__,
        "value": None,
    }
    if not isinstance(symbol["deprecated"], str):
        symbol["deprecated"] = None
    if inspect.ismodule(value):
        symbol.update(kind="module", members=[[item, None] for item in public_names(value)])
    elif inspect.isclass(value):
        symbol["kind"] = "enum" if issubclass(value, enum.Enum) else "class"
        if issubclass(value, enum.Enum):
            symbol["members"] = [
                [item, value_text(member.value)]
                for item, member in value.__members__.items()
                if not item.startswith("_")
            ]
        elif not getattr(value, "_is_protocol", False):
            symbol["signature"] = (signature_text(value) or "").removesuffix(" -> None") or None
        symbol["fields"] = fields_of(value)
        symbol["methods"] = methods_of(value, package)
    elif isinstance(value, _TYPE_FORMS):
        symbol.update(kind="type", value=shorten(value_text(value)))
    elif callable(value) and not isinstance(value, enum.Enum):
        symbol.update(kind="function", signature=signature_text(value))
    else:
        symbol["signature"] = signature_text(value) if callable(value) else None
        symbol["value"] = value_text(value)
    return symbol


def public_names(module: types.ModuleType) -> list[str]:
    """Return a module's public names, sorted: `__all__`, or what its source defines or re-exports by name."""
    names = vars(module)
    declared = names.get("__all__")
    if isinstance(declared, (list, tuple)):
        return sorted({name for name in declared if isinstance(name, str) and name in names})
    package = module.__name__.split(".")[0]
    try:
        source_names = _source_names(ast.parse(inspect.getsource(module)), module, package)
    except (OSError, TypeError, SyntaxError, ValueError):
        source_names = {name for name, value in names.items() if _top(value) == package}
    found = []
    for name in sorted(source_names):
        if name.startswith("_") or name not in names or inspect.ismodule(names[name]):
            continue
        if _is_shown(name, names[name], package):
            found.append(name)
    return found


def _top(value: object) -> str:
    owner = getattr(value, "__module__", None)
    return owner.split(".")[0] if isinstance(owner, str) else ""


def _is_shown(name: str, value: object, package: str) -> bool:
    if isinstance(value, _PLAIN):
        return name.isupper()
    if isinstance(value, _TYPE_FORMS):
        return True
    if inspect.isclass(value) or inspect.isroutine(value):
        return _top(value) == package
    # Some other object: the package's own kinds, and callables it made (a compiled or partial function).
    return type(value).__module__.split(".")[0] == package or (
        callable(value) and _top(value) in (package, "functools")
    )


def _source_names(tree: ast.Module, module: types.ModuleType, package: str) -> set[str]:
    defined: set[str] = set()
    imported: set[str] = set()
    is_package = hasattr(module, "__path__")
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, ast.Assign):
            defined.update(
                item.id for target in node.targets for item in ast.walk(target) if isinstance(item, ast.Name)
            )
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            defined.add(node.target.id)
        elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == package):
            for item in node.names:
                if item.name == "*":
                    defined.update(_star_names(node, module))
                elif item.asname == item.name or is_package:
                    defined.add(item.asname or item.name)
                else:
                    imported.add(item.asname or item.name)
        elif isinstance(node, (ast.If, ast.Try)):
            waiting += [*node.body, *node.orelse]
            if isinstance(node, ast.Try):
                waiting += [statement for handler in node.handlers for statement in handler.body]
    # A module that only imports exists to pass on what it imports.
    return defined if any(not name.startswith("_") for name in defined) else imported


def _star_names(node: ast.ImportFrom, module: types.ModuleType) -> list[str]:
    relative = "." * node.level + (node.module or "")
    try:
        return public_names(importlib.import_module(relative, module.__package__))
    except Exception:
        return []


def deprecated_names(module: types.ModuleType) -> dict[str, tuple[str, object]]:
    """Return the names a module still answers to with a warning (JAX's `_deprecations` convention)."""
    table = vars(module).get("_deprecations")
    if not isinstance(table, dict):
        return {}
    return {
        name: (entry[0], entry[1])
        for name, entry in table.items()
        if isinstance(name, str) and isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)
        if entry[1] is not None
    }


class Reader:
    """Reads modules one after the other, numbering the objects it meets."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.modules: list[dict[str, typing.Any]] = []
        self.versions: dict[str, str] = {}
        # Objects are kept, so that an id is never given to another.
        self._numbers: dict[int, tuple[int, object]] = {}
        self._distributions = importlib.metadata.packages_distributions()

    def read(self, name: str, depth: int = 0) -> None:
        """Read one module, or where it is a package with nothing public of its own, the modules in it."""
        entry: dict[str, typing.Any] = {
            "name": name,
            "status": "ok",
            "error": None,
            "distribution": None,
            "symbols": [],
        }
        self.modules.append(entry)
        try:
            module = importlib.import_module(name)
        except BaseException as error:
            parents = [name[: at.start()] for at in re.finditer(r"\.", name)] + [name]
            missing = isinstance(error, ModuleNotFoundError) and error.name in parents
            entry["status"] = "missing" if missing else "failed"
            entry["error"] = " ".join(f"{type(error).__name__}: {error}".split())[:500]
            return
        entry["distribution"] = self._version(module)
        package = name.split(".")[0]
        names = public_names(module)
        symbols: list[tuple[str, object, str | None]] = [
            (item, vars(module)[item], None) for item in names if self._is_symbol(vars(module)[item], package)
        ]
        symbols += [(item, value, message) for item, (message, value) in sorted(deprecated_names(module).items())]
        for item, value, message in symbols:
            symbol = describe(item, value, package)
            symbol["object"] = self._number(value)
            symbol["deprecated_name"] = message
            entry["symbols"].append(symbol)
        if not entry["symbols"] and hasattr(module, "__path__") and depth < _MAX_DEPTH:
            for item in sorted(found.name for found in pkgutil.iter_modules(module.__path__)):
                if not item.startswith("_") and item not in _NOT_READ:
                    self.read(f"{name}.{item}", depth + 1)

    @staticmethod
    def _is_symbol(value: object, package: str) -> bool:
        """Whether it is anything but a module, or a documented module of the same package."""
        return not inspect.ismodule(value) or (value.__name__.split(".")[0] == package and bool(value.__doc__))

    def _number(self, value: object) -> int:
        if isinstance(value, _PLAIN):
            # Equal constants may be one object by chance.
            key: object = object()
            self._numbers[id(key)] = (len(self._numbers), key)
            return self._numbers[id(key)][0]
        return self._numbers.setdefault(id(value), (len(self._numbers), value))[0]

    def _version(self, module: types.ModuleType) -> str | None:
        """Record the version of the module's distribution; return the name it is recorded under."""
        top = module.__name__.split(".")[0]
        if top in sys.stdlib_module_names:
            self.versions["python"] = platform.python_version()
            return "python"
        names = sorted(set(self._distributions.get(top, [])))
        for name in names:
            self.record(name)
        if names:
            return names[0] if len(names) == 1 else None
        version = getattr(sys.modules.get(top), "__version__", None)
        if isinstance(version, str):
            self.versions[top] = version
            return top
        return None

    def record(self, distribution: str) -> None:
        """Record a distribution's version, if it is installed."""
        try:
            self.versions[distribution] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            pass


def main(request_path: str, answer_path: str) -> None:
    """Answer one request."""
    with open(request_path, encoding="utf-8") as stream:
        request = json.load(stream)
    sys.path[:0] = request["path"]
    warnings.simplefilter("ignore")
    reader = Reader()
    for name in request["modules"]:
        reader.read(name)
    for name in request["distributions"]:
        reader.record(name)
    answer = {"modules": reader.modules, "versions": reader.versions, "notes": reader.notes}
    with open(answer_path, "w", encoding="utf-8") as stream:
        json.dump(answer, stream)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
