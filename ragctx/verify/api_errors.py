"""Whether an error that surfaced at run time is a wrong use of JAX's API."""

from __future__ import annotations

import re
from collections.abc import Collection

from ragctx.failures import FailureKind
from ragctx.verify.renames import Renames
from ragctx.verify.symbols import Class, Function, Instance, Module, Parameters, Symbol, SymbolTable

_MODULE_ATTRIBUTE = re.compile(r"(?:partially initialized )?module '([\w.]+)' has no attribute '(\w+)'")
_CLASS_ATTRIBUTE = re.compile(r"(?:type object '(\w+)'|'(\w+)' object) has no attribute '(\w+)'")
_ENUM_MEMBER = re.compile(r"[A-Za-z_]\w*")
_REMOVED = re.compile(r"(?:jax|pl|pltpu|plsc|jnp)(?:\.\w+)+\b.*\b(?:deprecated|removed|moved|renamed)\b", re.DOTALL)
_CANNOT_IMPORT = re.compile(r"cannot import name '(\w+)' from '(jax[\w.]*)'")
_NO_MODULE = re.compile(r"No module named '(jax\.[\w.]+)'")
_CALL = re.compile(
    r"([\w.<>]+)\(\) (?:got an unexpected keyword argument|got multiple values for|got some positional-only arguments|"
    r"missing \d+ required|takes (?:from )?\d+|takes no |takes exactly )"
)
_KEYWORD = re.compile(r"got an unexpected keyword argument '(\w+)'")
_BASE_CLASS = re.compile(r"Protocols cannot be instantiated|Can't instantiate abstract class (\w+)")


def kind_of_runtime_error(
    exc_type: str, message: str, table: SymbolTable, *, renames: Renames | None = None, defined: Collection[str] = ()
) -> FailureKind | None:
    """Return `api_name` or `api_keyword` if an error says that JAX's API was used wrongly, else None.

    Args:
        exc_type: The exception's class name.
        message: Its text.
        table: The symbol table of the JAX it came from.
        renames: Whose patterns of refused values count as well; those of the shipped corpus by default.
        defined: Names of functions and classes that the candidate defines (`api_check.defined_names`): what a call of
            one of them says is no matter of JAX's.
    """
    name = exc_type.rpartition(".")[2]
    text = message.strip()
    if name == "AttributeError":
        return FailureKind.API_NAME if _is_missing_name(text, table) else None
    if name in ("ImportError", "ModuleNotFoundError"):
        return FailureKind.API_NAME if _is_missing_import(text, table) else None
    if name == "TypeError":
        found = _BASE_CLASS.match(text)
        if found is not None and (found[1] is None or _symbols_called(table, found[1], (Class,))):
            return FailureKind.API_NAME
        if _is_wrong_call(text, table, defined):
            return FailureKind.API_KEYWORD
    if name in ("TypeError", "ValueError") and _is_refused_value(text, renames):
        return FailureKind.API_KEYWORD
    return None


def _is_missing_name(text: str, table: SymbolTable) -> bool:
    found = _MODULE_ATTRIBUTE.match(text)
    if found is not None:
        module = table.module(found[1])
        return module is not None and table.attribute(module, found[2]) is False
    found = _CLASS_ATTRIBUTE.match(text)
    if found is not None:
        name, attribute = found[1] or found[2], found[3]
        if attribute.startswith("_"):
            return False
        if found[1] is None and (name.endswith("Tracer") or name in ("ArrayImpl", "Array")):
            # A method of some other array library; what a reference lacks is told by its own kind.
            return isinstance(table.lookup("jax.Array"), Class)
        symbols = _symbols_called(table, name, (Class,))
        if found[1] is None:
            # Of other objects (a shape given for scratch, None) it is a mistake of another kind.
            symbols = [Instance(s.name, s.key) for s in symbols if isinstance(s, Class) and _is_pallas(s)]
        return any(table.attribute(symbol, attribute) is False for symbol in symbols)
    if any(text.startswith(said) for module in table.modules.values() for said in module["gone"].values()):
        return True
    if _ENUM_MEMBER.fullmatch(text):
        # All that an enum of Python 3.11 says.
        return (
            any(cls["enum"] and text not in cls["attrs"] for key, cls in table.classes.items() if ".pallas." in key)
            and text.isupper()
        )
    return _REMOVED.match(text) is not None


def _is_missing_import(text: str, table: SymbolTable) -> bool:
    found = _CANNOT_IMPORT.match(text)
    if found is not None:
        module = table.module(found[2])
        return module is not None and table.attribute(module, found[1]) is False
    found = _NO_MODULE.match(text)
    if found is not None:
        return table.module(found[1]) is None
    return _REMOVED.match(text) is not None


def _is_wrong_call(text: str, table: SymbolTable, defined: Collection[str]) -> bool:
    found = _CALL.match(text)
    if found is None or "<" in found[1]:
        return False
    parts = found[1].split(".")
    called = parts[-2] if parts[-1] in ("__init__", "__new__", "__call__") and len(parts) > 1 else parts[-1]
    if called in defined or (len(parts) > 1 and parts[0] in defined):
        return False
    symbols = _symbols_called(table, called, (Function, Class))
    keyword = _KEYWORD.search(text)
    if keyword is None:
        return bool(symbols)
    return any(_refuses(table.call_parameters(symbol), keyword[1]) for symbol in symbols)


def _refuses(parameters: Parameters | None, keyword: str) -> bool:
    return parameters is None or not (parameters.any_keyword or keyword in parameters.keywords)


def _is_refused_value(text: str, renames: Renames | None) -> bool:
    if renames is None:
        from ragctx.verify.api_check import shipped_renames

        renames = shipped_renames()
    return any(misuse.error and re.match(misuse.error, text) for misuse in renames.misuses)


def _symbols_called(table: SymbolTable, name: str, kinds: tuple[type, ...]) -> list[Symbol]:
    """Return the table's symbols whose last name is `name`."""
    found = []
    for module in table.modules:
        if name in table.modules[module]["names"]:
            symbol = table.attribute(Module(module), name)
            if isinstance(symbol, kinds):
                found.append(symbol)
    return found  # type: ignore[return-value]


def _is_pallas(symbol: Class) -> bool:
    return ".pallas." in symbol.key
