"""Lists what names, call signatures, classes and enums the JAX of this interpreter has.

Request: {"modules": [...]}: modules to import; every public `jax` module that is loaded afterwards is listed too.
Answer: {"python": "3.11.7", "versions": {"jax": ...}, "witness": [[path, size, mtime_ns], ...], "modules": {name:
module}, "classes": {key: class}}.

A module is {"names": {name: entry}, "submodules": [...], "star": [...] or null (all of `names` that do not warn),
"warned": {name: message}, "gone": {name: message}, "open": whether it may answer to names that are not listed}.
An entry is ["m", module], ["f", signature], ["c", class key] or ["v", class key or null, signature]; a signature is
null where nothing is known. A method that was not bound to an instance is ["f", signature with its first parameter,
"self"].
A class is {"sig": signature, "attrs": {name: entry}, "open": whether it may answer to others, "instance": attributes
its instances may have besides, or null if they cannot be listed, "enum": bool, "abstract": whether it cannot be
called, "call": signature of a call of an instance}.
A signature is text: `kernel,/,out_shape,*,grid=,**kwargs`, where `=` stands for a default.
"""

from __future__ import annotations

import dataclasses
import dis
import enum
import importlib
import importlib.metadata
import inspect
import json
import os
import pkgutil
import platform
import sys
import types
import warnings
from collections.abc import Iterable
from typing import Any

_EMPTY = inspect.Parameter.empty

# Wrappers with `(*args, **kwargs)` that pass on what they are given, by file and name. What any other such wrapper
# does with its arguments (jax.lax.cond, jax.jit of some versions) is not known.
_PASSES_ON = {
    ("traceback_util.py", "reraise_with_filtered_traceback"),
    ("contextlib.py", "helper"),
    ("contextlib.py", "inner"),
    ("util.py", "wrapper"),
    ("source_info_util.py", "wrapper"),
    ("profiler.py", "wrapper"),
}


def signature_of(value: Any) -> inspect.Signature | None:
    """Return the signature by which a call is bound, or None.

    `inspect.signature` tells that of the innermost wrapped function, but it is the first wrapper with parameters of
    its own that refuses a call.
    """
    seen = 0
    while seen < 20:
        try:
            signature = inspect.signature(value, follow_wrapped=False)
        except Exception:
            signature = None
        wrapped = getattr(value, "__wrapped__", None)
        if signature is not None and (wrapped is None or not _takes_anything(signature)):
            return signature
        if wrapped is None or inspect.isclass(value) or not _passes_on(value):
            return signature
        value = wrapped
        seen += 1
    return None


def _passes_on(wrapper: Any) -> bool:
    code = getattr(wrapper, "__code__", None)
    return code is None or (os.path.basename(code.co_filename), code.co_name) in _PASSES_ON


def _takes_anything(signature: inspect.Signature) -> bool:
    kinds = {p.kind for p in signature.parameters.values()}
    return kinds == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def signature_text(value: Any) -> str | None:
    """Return a callable's signature as text, or None."""
    try:
        signature = signature_of(value)
    except Exception:
        return None
    if signature is None:
        return None
    parts = []
    slash = star = False
    for parameter in signature.parameters.values():
        if slash and parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
            parts.append("/")
            slash = False
        slash = slash or parameter.kind is inspect.Parameter.POSITIONAL_ONLY
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            parts.append("*" + parameter.name)
            star = True
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            parts.append("**" + parameter.name)
        else:
            parts.append(parameter.name + ("" if parameter.default is _EMPTY else "="))
    if slash:
        parts.append("/")
    return ",".join(parts)


def quietly(owner: Any, name: str) -> tuple[bool, Any, str | None]:
    """Return (whether there is such an attribute, its value, the warning that getting it gave or None)."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = getattr(owner, name)
        except Exception:
            return False, None, None
    messages = [str(w.message) for w in caught if issubclass(w.category, (DeprecationWarning, FutureWarning))]
    return True, value, messages[0] if messages else None


def deprecation_tables(module: types.ModuleType) -> list[dict[str, Any]]:
    """Return the dictionaries {name: (message, value)} that the module's `__getattr__` answers from."""
    getter = vars(module).get("__getattr__")
    getter = getattr(getter, "__wrapped__", getter)
    held = [cell.cell_contents for cell in getattr(getter, "__closure__", None) or ()]
    held += [value for name, value in vars(module).items() if "deprecat" in name]
    return [table for table in held if isinstance(table, dict) and _is_deprecations(table)]


def _is_deprecations(table: dict[Any, Any]) -> bool:
    return all(isinstance(name, str) and isinstance(item, tuple) and len(item) == 2 for name, item in table.items())


def stored_attributes(code: types.CodeType) -> set[str]:
    """Return the names of attributes that a function's code may set on some object."""
    found: set[str] = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_ATTR"}
    if {"__setattr__", "setattr"} & set(code.co_names):
        found |= {c for c in code.co_consts if isinstance(c, str) and c.isidentifier()}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= stored_attributes(constant)
    return found


def instance_attributes(cls: type) -> list[str] | None:
    """Return what instances may have that the class does not, or None if that cannot be told."""
    found: set[str] = set()
    for base in cls.__mro__[:-1]:
        if {"__getattr__", "__getattribute__"} & set(vars(base)) or vars(base).get("_HAS_DYNAMIC_ATTRIBUTES"):
            return None
        own_code = base.__module__.split(".")[0] in ("jax", "enum", "typing", "builtins")
        if not own_code and hasattr(cls, "__dict__") and "__dict__" in dir(cls):
            return None
        found.update(getattr(base, "__annotations__", {}))
        slots = vars(base).get("__slots__", ())
        found.update([slots] if isinstance(slots, str) else slots)
        for member in vars(base).values():
            for part in (member, getattr(member, "__func__", None), getattr(member, "fget", None)):
                code = getattr(part, "__code__", None)
                if code is not None:
                    found |= stored_attributes(code)
    if dataclasses.is_dataclass(cls):
        found.update(field.name for field in dataclasses.fields(cls))
    if issubclass(cls, enum.Enum):
        found |= {"name", "value"}
    return sorted(name for name in found if not name.startswith("__") and not hasattr(cls, name))


class Reader:
    """Collects modules and the classes they hold."""

    def __init__(self) -> None:
        self.modules: dict[str, Any] = {}
        self.classes: dict[str, Any] = {}
        self._keys: dict[int, str] = {}

    def entry(self, value: Any) -> list[Any]:
        """Return what is known of a value."""
        if inspect.ismodule(value):
            return ["m", value.__name__]
        if inspect.isclass(value):
            return ["c", self.class_key(value)] if _is_jax(value) else ["v", None, None]
        if isinstance(value, (types.GenericAlias, types.UnionType)) or type(value).__module__ == "typing":
            return ["v", None, None]
        if inspect.isroutine(value):
            return ["f", signature_text(value)]
        cls = type(value)
        call = signature_text(value) if callable(value) else None
        if call is not None and hasattr(value, "__wrapped__"):
            return ["f", call]
        return ["v", self.class_key(cls) if _is_jax(cls) else None, call]

    def class_key(self, cls: type) -> str:
        """Return the key of a class, describing it when it is first met."""
        if id(cls) in self._keys:
            return self._keys[id(cls)]
        key = cls.__module__ + "." + cls.__qualname__
        while key in self.classes:
            key += "'"
        self._keys[id(cls)] = key
        description: dict[str, Any] = {}
        self.classes[key] = description
        is_enum = issubclass(cls, enum.Enum)
        abstract = bool(vars(cls).get("_is_protocol")) or inspect.isabstract(cls)
        description.update(
            sig=None if is_enum or abstract else signature_text(cls),
            attrs=self._attributes(cls, is_enum),
            instance=instance_attributes(cls),
            enum=is_enum,
            abstract=abstract,
            open=any("__getattr__" in vars(base) for base in inspect.getmro(type(cls)) if base is not enum.EnumMeta),
            call=self._call(cls),
        )
        return key

    @staticmethod
    def _call(cls: type) -> str | None:
        method = next((vars(base)["__call__"] for base in cls.__mro__ if "__call__" in vars(base)), None)
        text = signature_text(method) if inspect.isfunction(method) else None
        return None if text is None else ",".join(text.split(",")[1:])

    def _attributes(self, cls: Any, is_enum: bool) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        names = set(dir(cls)) | (set(dir(type(cls))) if type(cls) is not type else {"mro"})
        for name in sorted(names):
            if name.startswith("_"):
                continue
            raw = inspect.getattr_static(cls, name, None)
            if is_enum and name in cls.__members__:
                found[name] = ["v", self.class_key(cls), None]
            elif inspect.isfunction(raw):
                found[name] = ["f", signature_text(raw), "self"]
            elif isinstance(raw, (classmethod, staticmethod)):
                found[name] = ["f", signature_text(getattr(cls, name))]
            else:
                found[name] = ["v", None, None]
        return found

    def module(self, module: types.ModuleType) -> None:
        """Describe one module."""
        tables = deprecation_tables(module)
        declared = {name: message for table in tables for name, (message, _) in table.items()}
        has_dir = "__dir__" in vars(module)
        names: dict[str, list[Any]] = {}
        warned: dict[str, str] = {}
        gone: dict[str, str] = {}
        for name in sorted(set(vars(module)) | set(declared) | (set(dir(module)) if has_dir else set())):
            if name.startswith("_"):
                continue
            there, value, warning = quietly(module, name)
            if not there:
                if name in declared:
                    gone[name] = " ".join(str(declared[name]).split())
                continue
            names[name] = self.entry(value)
            if warning or name in declared:
                warned[name] = " ".join(str(declared.get(name) or warning).split())
        star = vars(module).get("__all__")
        self.modules[module.__name__] = {
            "names": names,
            "submodules": submodules(module),
            "star": sorted(map(str, star)) if isinstance(star, (list, tuple)) else None,
            "warned": warned,
            "gone": gone,
            "open": "__getattr__" in vars(module) and not tables and not has_dir,
        }


def submodules(module: types.ModuleType) -> list[str]:
    """Return the names of what can be imported from a package."""
    if not hasattr(module, "__path__"):
        return []
    return sorted(found.name for found in pkgutil.iter_modules(module.__path__) if not found.name.startswith("_"))


def _is_jax(cls: type) -> bool:
    module = getattr(cls, "__module__", None)
    return isinstance(module, str) and module.split(".")[0] in ("jax", "jaxlib")


def public_modules() -> dict[str, types.ModuleType]:
    """Return the loaded modules of `jax` no part of whose name is private, by name."""
    found: dict[str, types.ModuleType] = {}
    for name, module in list(sys.modules.items()):
        parts = name.split(".")
        if parts[0] == "jax" and isinstance(module, types.ModuleType) and module.__name__ == name:
            if not any(part.startswith("_") for part in parts):
                found[name] = module
    return dict(sorted(found.items()))


def witness(modules: Iterable[types.ModuleType]) -> list[list[Any]]:
    """Return path, size and time of the files that say whether the installed JAX is still the same."""
    pallas = [module for name, module in list(sys.modules.items()) if name.startswith("jax._src.pallas")]
    # What the public modules pass on is defined in the private ones.
    held = (getattr(module, "__file__", None) for module in [*modules, *pallas])
    files = {path for path in held if isinstance(path, str)}
    for name in ("jax", "jaxlib"):
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        files.update(str(distribution.locate_file(f)) for f in distribution.files or () if f.name == "METADATA")
    found: list[list[Any]] = []
    for path in sorted(files):
        state = os.stat(path)
        found.append([path, state.st_size, state.st_mtime_ns])
    return found


def main(request_path: str, answer_path: str) -> None:
    """Answer the request."""
    with open(request_path, encoding="utf-8") as stream:
        request = json.load(stream)
    warnings.simplefilter("ignore")
    for name in request["modules"]:
        try:
            importlib.import_module(name)
        except ImportError:
            if name == "jax":
                raise
    reader = Reader()
    modules = public_modules()
    for module in modules.values():
        reader.module(module)
    versions = {}
    for name in ("jax", "jaxlib"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = getattr(sys.modules[name], "__version__", "unknown")
    answer = {
        "python": platform.python_version(),
        "versions": versions,
        "witness": witness(modules.values()),
        "modules": reader.modules,
        "classes": reader.classes,
    }
    with open(answer_path, "w", encoding="utf-8") as stream:
        json.dump(answer, stream, separators=(",", ":"), sort_keys=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
