"""Scopes of a Python file: which names each binds, to what, and under which conditions."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import dataclass, field

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class ScopeKind(enum.Enum):
    """What opens a scope."""

    MODULE = "module"
    CLASS = "class"
    FUNCTION = "function"
    COMPREHENSION = "comprehension"


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that must hold for a line to run.

    Attributes:
        test: The expression tested, or None where there is none to look at (a match case, an except clause).
        scope: The scope it is evaluated in.
        branch: Whether the line runs when the test is true (else when it is false).
        only_if_test: Whether it counts only if it tests what is installed: a line after `if not x: raise` runs in
            every run that goes on.
        handler: Whether it is an except clause's body.
    """

    test: ast.expr | None
    scope: Scope
    branch: bool = True
    only_if_test: bool = False
    handler: bool = False


@dataclass(slots=True, eq=False)
class Function:
    """A function or method of the file.

    Attributes:
        name: Its name.
        node: Its definition.
        owner: The function it is defined in, or None.
        in_class: The class it is defined in directly, or None.
        runs_at_once: Whether a decorator runs it where it is defined (`@pl.when(...)`).
        context: Under which conditions it is defined.
    """

    name: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: Function | None
    in_class: ast.ClassDef | None
    context: Context
    runs_at_once: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """Under which circumstances a line runs.

    Attributes:
        owner: The function whose body it is in, or None for module level.
        catches: Names of exceptions that enclosing try statements of the same body catch; "*" for all.
        conditions: Conditions of the same body, outermost first.
    """

    owner: Function | None = None
    catches: frozenset[str] = frozenset()
    conditions: tuple[Condition, ...] = ()

    def under(self, condition: Condition) -> Context:
        """Return the context with one more condition."""
        return Context(self.owner, self.catches, (*self.conditions, condition))

    def caught(self, exceptions: frozenset[str]) -> Context:
        """Return the context inside a try statement that catches `exceptions`."""
        return Context(self.owner, self.catches | exceptions, self.conditions)


@dataclass(frozen=True, slots=True)
class Binding:
    """One place where a name gets a value.

    Attributes:
        module: For an import, the module, or the one imported from.
        name: For `from module import name`, the name.
        value: For an assignment, the expression.
        scope: The scope `value` is evaluated in.
        function: For a function definition, the function.
        cls: For a class definition, the class.
        in_try: Whether it stands in a try statement (its body or one of its handlers).
    """

    module: str | None = None
    name: str | None = None
    value: ast.expr | None = None
    scope: Scope | None = None
    function: Function | None = None
    cls: ast.ClassDef | None = None
    in_try: bool = False


@dataclass(slots=True, eq=False)
class Scope:
    """Names bound in one module, class, function or comprehension."""

    kind: ScopeKind
    parent: Scope | None = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    outer: dict[str, str] = field(default_factory=dict)
    star_modules: list[str] = field(default_factory=list)

    def module_scope(self) -> Scope:
        """Return the file's outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def declare_outer(self, names: list[str], word: str) -> None:
        """Record a `global` or `nonlocal` statement."""
        for name in names:
            self.outer[name] = word

    def bind(self, name: str, binding: Binding) -> None:
        """Record a binding where the language puts it."""
        word = self.outer.get(name)
        if word == "global":
            self.module_scope().bindings.setdefault(name, []).append(binding)
            return
        if word == "nonlocal":
            scope = self.parent
            while scope is not None and not (scope.kind is ScopeKind.FUNCTION and name in scope.bindings):
                scope = scope.parent
            if scope is not None:
                scope.bindings[name].append(binding)
                return
        self.bindings.setdefault(name, []).append(binding)

    def visible(self) -> Iterator[Scope]:
        """Yield the scopes a name is looked up in, innermost first: classes are skipped from inside functions."""
        scope: Scope | None = self
        while scope is not None:
            if scope is self or scope.kind is not ScopeKind.CLASS:
                yield scope
            scope = scope.parent

    def lookup(self, name: str) -> list[Binding] | None:
        """Return the bindings a name refers to, or None if nothing binds it."""
        if self.outer.get(name) == "global":
            return self.module_scope().bindings.get(name)
        for scope in self.visible():
            if name in scope.bindings:
                return scope.bindings[name]
        return None
