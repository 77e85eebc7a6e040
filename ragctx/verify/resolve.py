"""What an expression of a file stands for: symbols of the table, as far as that is certain.

An expression has several possible values where a name is bound several times. A use is wrong only if it is wrong for
all of them; a value that cannot be told makes every use of it right.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from ragctx.verify.reading import Reading
from ragctx.verify.scopes import Binding, Scope
from ragctx.verify.symbols import Class, Function, Instance, Module, Symbol, SymbolTable


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that may be anything."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something imported from elsewhere, by its full name (`functools.partial`)."""

    name: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """None: it has no attributes, and a name that may be None is not used while it is."""


@dataclass(frozen=True, slots=True)
class Partial:
    """`functools.partial(target, ...)`.

    Attributes:
        target: What it calls.
        positional: How many positional arguments it gives.
        keywords: The keywords it gives.
        exact: Whether that is all (no `*args` or `**kwargs`).
    """

    target: Symbol
    positional: int
    keywords: frozenset[str]
    exact: bool


Value = Symbol | Unknown | Foreign | Nothing | Partial
Values = frozenset[Value]

UNKNOWN: Values = frozenset([Unknown()])
_SYMBOLS = (Module, Function, Class, Instance)


class Resolver:
    """Resolves expressions against a symbol table.

    Args:
        table: The table.
        reading: The file.
    """

    def __init__(self, table: SymbolTable, reading: Reading) -> None:
        self._table = table
        self._cache: dict[int, Values] = {}
        self._bound: dict[int, Values] = {}
        # (module or class, attribute) that the file itself sets; "*" where any attribute may be.
        self._patched: set[tuple[str, str]] = set()
        for use in reading.stores:
            assert isinstance(use.node, ast.Attribute)
            self._patch(self.values(use.node.value, use.scope), use.node.attr)
        for use in reading.uses:
            if isinstance(use.node, ast.Call) and _is_named(use.node.func, "setattr") and len(use.node.args) == 3:
                name = use.node.args[1]
                known = isinstance(name, ast.Constant) and isinstance(name.value, str)
                self._patch(self.values(use.node.args[0], use.scope), str(name.value) if known else "*")  # type: ignore[attr-defined]
        self._cache.clear()
        self._bound.clear()

    def _patch(self, owners: Values, name: str) -> None:
        self._patched |= {(owner.name, name) for owner in owners if isinstance(owner, _SYMBOLS)}

    def values(self, node: ast.expr, scope: Scope) -> Values:
        """Return what an expression may stand for; empty if evaluating it always fails."""
        key = id(node)
        if key not in self._cache:
            # A name that is bound in terms of itself.
            self._cache[key] = UNKNOWN
            self._cache[key] = self._evaluate(node, scope)
        return self._cache[key]

    def _evaluate(self, node: ast.expr, scope: Scope) -> Values:
        if isinstance(node, ast.Name):
            return self.name_values(node.id, scope)
        if isinstance(node, ast.Attribute):
            return self._attributes(self.values(node.value, scope), node.attr)
        if isinstance(node, ast.Call):
            return self._call(node, scope)
        if isinstance(node, ast.IfExp):
            return self.values(node.body, scope) | self.values(node.orelse, scope)
        if isinstance(node, ast.BoolOp):
            return _union(self.values(value, scope) for value in node.values)
        if isinstance(node, ast.NamedExpr):
            return self.values(node.value, scope)
        if isinstance(node, ast.Constant) and node.value is None:
            return frozenset([Nothing()])
        return UNKNOWN

    def name_values(self, name: str, scope: Scope) -> Values:
        """Return what a name may stand for where it is used in `scope`."""
        bindings = scope.lookup(name)
        if bindings is None:
            return self._star_values(name, scope)
        return _union(self._binding_values(binding) for binding in bindings)

    def _star_values(self, name: str, scope: Scope) -> Values:
        """Return what a name stands for that only `from module import *` can have bound."""
        found: list[Values] = []
        for module in scope.module_scope().star_modules:
            known = self._table.module(module)
            if known is None or not known.known:
                return UNKNOWN
            if name in self._table.star_names(module):
                found.append(self._attributes(frozenset([known]), name))
        return _union(found) if found else UNKNOWN

    def _binding_values(self, binding: Binding) -> Values:
        key = id(binding)
        if key not in self._bound:
            self._bound[key] = UNKNOWN
            self._bound[key] = self._bind(binding)
        return self._bound[key]

    def _bind(self, binding: Binding) -> Values:
        if binding.module is not None:
            owner = self.module_values(binding.module)
            return owner if binding.name is None else self._attributes(owner, binding.name)
        if binding.value is not None and binding.scope is not None:
            return self.values(binding.value, binding.scope)
        return UNKNOWN

    def module_values(self, name: str) -> Values:
        """Return what `import name` gives; empty if JAX has no such module."""
        if name.split(".")[0] != "jax":
            return frozenset([Foreign(name)])
        if any(part.startswith("_") for part in name.split(".")):
            return UNKNOWN
        module = self._table.module(name)
        return frozenset() if module is None else frozenset([module])

    def _attributes(self, owners: Values, name: str) -> Values:
        return _union(self._attribute(owner, name) for owner in owners)

    def _attribute(self, owner: Value, name: str) -> Values:
        if isinstance(owner, Foreign):
            return frozenset([Foreign(f"{owner.name}.{name}")])
        if isinstance(owner, Nothing):
            return frozenset()
        if isinstance(owner, _SYMBOLS):
            if self.is_patched(owner, name):
                return UNKNOWN
            found = self._table.attribute(owner, name)
            if not isinstance(found, bool):
                return frozenset([found])
            return UNKNOWN if found else frozenset()
        return UNKNOWN

    def is_patched(self, owner: Symbol, name: str) -> bool:
        """Return whether the file sets this attribute itself."""
        return (owner.name, name) in self._patched or (owner.name, "*") in self._patched

    def _call(self, node: ast.Call, scope: Scope) -> Values:
        asked = self.getattr_call(node, scope)
        if asked is not None:
            owners, name = asked
            default = self.values(node.args[2], scope) if len(node.args) == 3 else frozenset()
            return self._attributes(owners, name) | default
        return _union(self._result(node, function, scope) for function in self.values(node.func, scope))

    def _result(self, node: ast.Call, function: Value, scope: Scope) -> Values:
        if isinstance(function, Class) and not self._table.is_enum(function):
            return frozenset([Instance(function.name, function.key)])
        if isinstance(function, Foreign) and function.name == "functools.partial":
            return self._partial(node, scope)
        if isinstance(function, Foreign) and function.name == "importlib.import_module" and len(node.args) == 1:
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                return self.module_values(name.value)
        return UNKNOWN

    def _partial(self, node: ast.Call, scope: Scope) -> Values:
        if not node.args or isinstance(node.args[0], ast.Starred):
            return UNKNOWN
        rest = node.args[1:]
        positional = sum(not isinstance(item, ast.Starred) for item in rest)
        keywords = frozenset(item.arg for item in node.keywords if item.arg is not None)
        exact = positional == len(rest) and len(keywords) == len(node.keywords)
        found: list[Values] = []
        for target in self.values(node.args[0], scope):
            if isinstance(target, Partial):
                merged = Partial(
                    target.target, target.positional + positional, target.keywords | keywords, target.exact and exact
                )
                found.append(frozenset([merged]))
            elif isinstance(target, _SYMBOLS):
                found.append(frozenset([Partial(target, positional, keywords, exact)]))
            else:
                found.append(UNKNOWN)
        return _union(found)

    def getattr_call(self, node: ast.Call, scope: Scope) -> tuple[Values, str] | None:
        """Return what `getattr(owner, "name"[, default])` asks for, or None if the call is another one."""
        if not _is_named(node.func, "getattr") or scope.lookup("getattr") is not None:
            return None
        if len(node.args) not in (2, 3) or node.keywords:
            return None
        name = node.args[1]
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            return None
        return self.values(node.args[0], scope), name.value


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _union(parts: Iterable[Values]) -> Values:
    return frozenset().union(*parts)
