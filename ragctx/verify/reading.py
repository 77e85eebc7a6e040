"""One walk over a file's syntax tree: its scopes, its functions, and every use of a name that may be checked."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragctx.verify.scopes import Binding, Condition, Context, Function, Scope, ScopeKind

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# What may bind names that no statement binds: exec, globals()[...], sys.modules[...], enums that fill a module.
_BINDING_CALLS = frozenset(("exec", "globals", "locals", "vars"))
_BINDING_ATTRIBUTES = frozenset(("modules", "_convert_", "global_enum"))
_JUMPS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class Use:
    """A node that is evaluated, where and when.

    Attributes:
        node: A name, an attribute, a call, an import, a decorator or the subject of a with statement.
        scope: The scope it is evaluated in.
        context: Under which circumstances.
        role: "", "decorator" or "with".
        evaluated: False for annotations that Python does not evaluate.
    """

    node: ast.expr | ast.ImportFrom | ast.Import
    scope: Scope
    context: Context
    role: str = ""
    evaluated: bool = True


@dataclass(slots=True)
class Reading:
    """What a file holds.

    Attributes:
        module: The outermost scope.
        uses: Every use, in the order of the text as far as the tree keeps it.
        stores: Attributes that the file sets (`pltpu.X = ...`).
        functions: Functions and methods.
        classes: Class definitions with the functions defined in them directly.
        lazy_annotations: Whether annotations are not evaluated (`from __future__ import annotations`).
        dynamic: Whether names may appear that no statement binds.
    """

    module: Scope
    uses: list[Use] = field(default_factory=list)
    stores: list[Use] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    classes: dict[ast.ClassDef, list[Function]] = field(default_factory=dict)
    lazy_annotations: bool = False
    dynamic: bool = False


def read(tree: ast.Module, *, lazy_annotations: bool = False) -> Reading:
    """Read a file's syntax tree.

    Args:
        tree: The tree.
        lazy_annotations: Whether the Python that will run it never evaluates annotations at once (3.14 and later).
    """
    scope = Scope(ScopeKind.MODULE)
    reading = Reading(scope, lazy_annotations=lazy_annotations)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            reading.lazy_annotations |= any(item.name == "annotations" for item in node.names)
    reader = _Reader(reading)
    reader.block(tree.body, scope, Context())
    reader.finish()
    return reading


class _Reader:
    """Walks statements and expressions; function bodies wait until the names around them are known to be bound."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._class: ast.ClassDef | None = None
        self._in_try = 0
        self._bodies: list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, Scope, Context]] = []

    def finish(self) -> None:
        """Walk the bodies of functions, outer ones first, so that `nonlocal` finds what it means."""
        while self._bodies:
            node, scope, context = self._bodies.pop(0)
            self._class, self._in_try = None, 0
            self.block(node.body, scope, context)

    # Statements

    def block(self, statements: Sequence[ast.stmt], scope: Scope, context: Context) -> None:
        """Walk statements in a row; what follows a conditional jump is itself conditional."""
        for statement in statements:
            self.statement(statement, scope, context)
            if isinstance(statement, ast.If):
                for branch, body in ((True, statement.body), (False, statement.orelse)):
                    if body and isinstance(body[-1], _JUMPS):
                        raises = isinstance(body[-1], ast.Raise)
                        context = context.under(Condition(statement.test, scope, not branch, only_if_test=raises))
            elif isinstance(statement, ast.Assert):
                context = context.under(Condition(statement.test, scope, True, only_if_test=True))

    def statement(self, node: ast.stmt, scope: Scope, context: Context) -> None:
        """Walk one statement."""
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is not None:
            method(node, scope, context)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.expression(child, scope, context)
            elif isinstance(child, ast.stmt):
                self.statement(child, scope, context)

    def _functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, context: Context) -> None:
        function = Function(node.name, node, context.owner, self._class, context)
        self.reading.functions.append(function)
        if self._class is not None:
            self.reading.classes[self._class].append(function)
        for decorator in node.decorator_list:
            self.expression(decorator, scope, context)
            self.reading.uses.append(Use(decorator, scope, context, "decorator"))
        self._bind(scope, node.name, Binding(function=function))
        inner = self._parameters(node, scope, context)
        self._annotation(node.returns, inner.parent or scope, context)
        # A try statement around a definition catches nothing of what its calls raise.
        self._bodies.append((node, inner, Context(function, frozenset(), context.conditions)))

    _asyncfunctiondef = _functiondef

    def _parameters(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope, context: Context
    ) -> Scope:
        outer = self._type_parameters(node, scope)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                self.expression(default, scope, context)
        inner = Scope(ScopeKind.FUNCTION, outer)
        arguments = node.args
        starred = [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]:
            inner.bind(argument.arg, Binding())
            self._annotation(argument.annotation, outer, context)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            _declare_outer(node.body, inner)
        return inner

    @staticmethod
    def _type_parameters(node: ast.AST, scope: Scope) -> Scope:
        """Return the scope that type parameters (`def f[T]`, Python 3.12) open, or the scope itself."""
        found = getattr(node, "type_params", None)
        if not found:
            return scope
        inner = Scope(ScopeKind.FUNCTION, scope)
        for item in found:
            inner.bind(item.name, Binding())
        return inner

    def _annotation(self, node: ast.expr | None, scope: Scope, context: Context, *, evaluated: bool = True) -> None:
        if node is not None:
            before = len(self.reading.uses)
            self.expression(node, scope, context)
            if not evaluated or self.reading.lazy_annotations:
                added = self.reading.uses[before:]
                self.reading.uses[before:] = [Use(u.node, u.scope, u.context, u.role, False) for u in added]

    def _classdef(self, node: ast.ClassDef, scope: Scope, context: Context) -> None:
        for decorator in node.decorator_list:
            self.expression(decorator, scope, context)
        outer = self._type_parameters(node, scope)
        for expression in [*node.bases, *(keyword.value for keyword in node.keywords)]:
            self.expression(expression, outer, context)
        self._bind(scope, node.name, Binding(cls=node))
        self.reading.classes[node] = []
        inner = Scope(ScopeKind.CLASS, outer)
        for name in ("__module__", "__qualname__"):
            inner.bind(name, Binding())
        _declare_outer(node.body, inner)
        around, self._class = self._class, node
        self.block(node.body, inner, context)
        self._class = around

    def _import(self, node: ast.Import, scope: Scope, context: Context) -> None:
        self.reading.uses.append(Use(node, scope, context))
        for item in node.names:
            module = item.name if item.asname else item.name.split(".")[0]
            self._bind(scope, item.asname or module, Binding(module=module))

    def _importfrom(self, node: ast.ImportFrom, scope: Scope, context: Context) -> None:
        self.reading.uses.append(Use(node, scope, context))
        module = node.module if node.level == 0 else None
        for item in node.names:
            if item.name == "*":
                scope.star_modules.append(module or "")
            else:
                self._bind(scope, item.asname or item.name, Binding(module=module, name=item.name))

    def _assign(self, node: ast.Assign, scope: Scope, context: Context) -> None:
        self.expression(node.value, scope, context)
        for target in node.targets:
            self._target(target, node.value, scope, context)

    def _annassign(self, node: ast.AnnAssign, scope: Scope, context: Context) -> None:
        simple = isinstance(node.target, ast.Name)
        evaluated = not (simple and scope.kind is ScopeKind.FUNCTION)
        self._annotation(node.annotation, scope, context, evaluated=evaluated)
        if node.value is not None:
            self.expression(node.value, scope, context)
            self._target(node.target, node.value, scope, context)
        elif not simple:
            self._target(node.target, None, scope, context)
        elif scope.kind is ScopeKind.FUNCTION:
            # `x: int` alone makes the name local to a function.
            self._target(node.target, None, scope, context)

    def _augassign(self, node: ast.AugAssign, scope: Scope, context: Context) -> None:
        self.expression(node.value, scope, context)
        self._target(node.target, None, scope, context)

    def _for(self, node: ast.For | ast.AsyncFor, scope: Scope, context: Context) -> None:
        self.expression(node.iter, scope, context)
        self._target(node.target, None, scope, context)
        self.block(node.body, scope, context)
        self.block(node.orelse, scope, context)

    _asyncfor = _for

    def _while(self, node: ast.While, scope: Scope, context: Context) -> None:
        self.expression(node.test, scope, context)
        self.block(node.body, scope, context.under(Condition(node.test, scope)))
        self.block(node.orelse, scope, context)

    def _if(self, node: ast.If, scope: Scope, context: Context) -> None:
        self.expression(node.test, scope, context)
        self.block(node.body, scope, context.under(Condition(node.test, scope, True)))
        self.block(node.orelse, scope, context.under(Condition(node.test, scope, False)))

    def _with(self, node: ast.With | ast.AsyncWith, scope: Scope, context: Context) -> None:
        for item in node.items:
            self.expression(item.context_expr, scope, context)
            self.reading.uses.append(Use(item.context_expr, scope, context, "with"))
            if item.optional_vars is not None:
                self._target(item.optional_vars, None, scope, context)
            context = context.caught(_suppressed(item.context_expr))
        self.block(node.body, scope, context)

    _asyncwith = _with

    def _try(self, node: ast.Try, scope: Scope, context: Context) -> None:
        caught = frozenset().union(*(_caught(handler.type) for handler in node.handlers))
        self._in_try += 1
        self.block(node.body, scope, context.caught(caught))
        for handler in node.handlers:
            if handler.type is not None:
                self.expression(handler.type, scope, context)
            if handler.name:
                self._bind(scope, handler.name, Binding())
            self.block(handler.body, scope, context.under(Condition(None, scope, handler=True)))
        self._in_try -= 1
        self.block(node.orelse, scope, context)
        self.block(node.finalbody, scope, context)

    _trystar = _try

    def _match(self, node: ast.Match, scope: Scope, context: Context) -> None:
        self.expression(node.subject, scope, context)
        for case in node.cases:
            for part in ast.walk(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    self._bind(scope, name, Binding())
                if isinstance(part, ast.MatchValue):
                    self.expression(part.value, scope, context)
                elif isinstance(part, ast.MatchClass):
                    self.expression(part.cls, scope, context)
            inner = context.under(Condition(None, scope))
            if case.guard is not None:
                self.expression(case.guard, scope, inner)
            self.block(case.body, scope, inner)

    def _global(self, node: ast.Global, scope: Scope, context: Context) -> None:
        scope.declare_outer(node.names, "global")

    def _nonlocal(self, node: ast.Nonlocal, scope: Scope, context: Context) -> None:
        scope.declare_outer(node.names, "nonlocal")

    def _typealias(self, node: ast.AST, scope: Scope, context: Context) -> None:
        self._target(node.name, None, scope, context)  # type: ignore[attr-defined]

    def _delete(self, node: ast.Delete, scope: Scope, context: Context) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                for child in ast.iter_child_nodes(target):
                    if isinstance(child, ast.expr):
                        self.expression(child, scope, context)

    def _target(self, target: ast.expr, value: ast.expr | None, scope: Scope, context: Context) -> None:
        """Bind an assignment's target."""
        if isinstance(target, ast.Name):
            self._bind(scope, target.id, Binding(value=value, scope=scope))
        elif isinstance(target, ast.Tuple | ast.List):
            values: list[ast.expr | None] = [None] * len(target.elts)
            starred = any(isinstance(item, ast.Starred) for item in target.elts)
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(values) and not starred:
                values = list(value.elts)
            for item, part in zip(target.elts, values, strict=True):
                self._target(item, part, scope, context)
        elif isinstance(target, ast.Starred):
            self._target(target.value, None, scope, context)
        elif isinstance(target, ast.Attribute):
            self.expression(target.value, scope, context)
            self.reading.stores.append(Use(target, scope, context))
        else:
            for child in ast.iter_child_nodes(target):
                if isinstance(child, ast.expr):
                    self.expression(child, scope, context)

    def _bind(self, scope: Scope, name: str, binding: Binding) -> None:
        if self._in_try:
            binding = Binding(
                binding.module, binding.name, binding.value, binding.scope, binding.function, binding.cls, True
            )
        scope.bind(name, binding)

    # Expressions

    def expression(self, node: ast.expr, scope: Scope, context: Context) -> None:
        """Walk one expression, its parts first."""
        if isinstance(node, ast.Lambda):
            self.expression(node.body, self._parameters(node, scope, context), context)
        elif isinstance(node, _COMPREHENSIONS):
            self._comprehension(node, scope, context)
        elif isinstance(node, ast.BoolOp):
            self._bool_op(node, scope, context)
        elif isinstance(node, ast.IfExp):
            self.expression(node.test, scope, context)
            self.expression(node.body, scope, context.under(Condition(node.test, scope, True)))
            self.expression(node.orelse, scope, context.under(Condition(node.test, scope, False)))
        elif isinstance(node, ast.NamedExpr):
            self.expression(node.value, scope, context)
            owner = scope
            while owner.kind is ScopeKind.COMPREHENSION and owner.parent is not None:
                owner = owner.parent
            self._bind(owner, node.target.id, Binding(value=node.value, scope=scope))
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.expression(child, scope, context)
                elif isinstance(child, ast.keyword):
                    self.expression(child.value, scope, context)
            if isinstance(node, ast.Name | ast.Attribute | ast.Call):
                self.reading.uses.append(Use(node, scope, context))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                self.reading.dynamic |= node.func.id in _BINDING_CALLS
            elif isinstance(node, ast.Attribute):
                self.reading.dynamic |= node.attr in _BINDING_ATTRIBUTES

    def _bool_op(self, node: ast.BoolOp, scope: Scope, context: Context) -> None:
        """Walk `a and b`, `a or b`: each operand is evaluated on the condition of those before it."""
        for value in node.values:
            self.expression(value, scope, context)
            context = context.under(Condition(value, scope, isinstance(node.op, ast.And)))

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, scope: Scope, context: Context
    ) -> None:
        inner = Scope(ScopeKind.COMPREHENSION, scope)
        for number, generator in enumerate(node.generators):
            self.expression(generator.iter, inner if number else scope, context)
            self._target(generator.target, None, inner, context)
            for test in generator.ifs:
                self.expression(test, inner, context)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in parts:
            self.expression(part, inner, context)


def _declare_outer(statements: Sequence[ast.stmt], scope: Scope) -> None:
    """Record `global` and `nonlocal` ahead of the walk: they hold for the whole body wherever they stand."""
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Global):
            scope.declare_outer(node.names, "global")
        elif isinstance(node, ast.Nonlocal):
            scope.declare_outer(node.names, "nonlocal")
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            waiting += ast.iter_child_nodes(node)


def _caught(node: ast.expr | None) -> frozenset[str]:
    """Return the exceptions an except clause names; "*" where that is all of them or cannot be told."""
    if node is None:
        return frozenset("*")
    if isinstance(node, ast.Tuple):
        return frozenset().union(*(_caught(item) for item in node.elts))
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    if name in ("Exception", "BaseException") or not name.endswith(("Error", "Exception", "Interrupt", "Exit")):
        return frozenset("*")
    return frozenset([name])


def _suppressed(node: ast.expr) -> frozenset[str]:
    """Return the exceptions that `contextlib.suppress(...)` as the subject of a with statement catches."""
    if not isinstance(node, ast.Call):
        return frozenset()
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name != "suppress":
        return frozenset()
    return frozenset().union(*(_caught(item) for item in node.args))
