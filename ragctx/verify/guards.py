"""Whether a line of a file runs, and whether what it raises is caught: guards, conditions and the call graph.

The call graph goes by names: whatever mentions a function may call it. A function that nothing reachable mentions, or
that is only mentioned where its errors are caught, is guarded; one that is only mentioned under an ordinary condition
is conditional.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ragctx.verify.findings import Guard
from ragctx.verify.reading import Reading, Use
from ragctx.verify.resolve import Resolver
from ragctx.verify.scopes import Context, Function, Scope

ENTRY_POINTS = ("workload", "Model")
"""What a candidate is called by."""

_ASKING_CALLS = frozenset(
    "hasattr getattr callable dir vars find_spec signature getfullargspec isfunction version parse_version".split()
)
_ASKING_ATTRIBUTES = frozenset("__version__ __version_info__ version_info __dict__ parameters __all__".split())
_MAX_DEPTH = 4

# Decorators that leave a function to be called later; every other one may run it at once.
_LATER = frozenset(
    """jax.jit jax.vmap jax.pmap jax.grad jax.value_and_grad jax.custom_vjp jax.custom_jvp jax.checkpoint jax.remat
    jax.named_call jax.named_scope jax.profiler.annotate_function jax.shard_map jax.experimental.shard_map.shard_map
    jax.custom_batching.custom_vmap jax.tree_util.register_pytree_node_class jax.numpy.vectorize pl.pallas_call
    functools.partial functools.cache functools.lru_cache functools.wraps functools.cached_property staticmethod
    classmethod property abc.abstractmethod contextlib.contextmanager dataclasses.dataclass""".split()
)
# What is registered with these runs only when a derivative or a batch rule is asked for.
_REGISTER = frozenset(
    "defvjp defjvp defjvps def_vmap register_pytree_node register_dataclass def_partition defvmap def_impl".split()
)


@dataclass(frozen=True, slots=True)
class Reach:
    """How a line is reached.

    Attributes:
        guard: Why what it raises does not end a run, or `Guard.NONE`.
        conditional: Whether an ordinary condition stands before it.
    """

    guard: Guard
    conditional: bool


@dataclass(frozen=True, slots=True)
class _Edge:
    target: Function
    context: Context
    conditional: bool = False


class Guards:
    """Says for any use of a file how it is reached.

    Args:
        reading: The file.
        resolver: Its resolver.
        entry_points: Functions and classes that are called from outside; if the file defines none of them, everything
            it defines is taken to be.
    """

    def __init__(self, reading: Reading, resolver: Resolver, entry_points: Sequence[str] = ENTRY_POINTS) -> None:
        self._reading = reading
        self._resolver = resolver
        self._asking: dict[tuple[int, int], bool] = {}
        self._edges: dict[Function | None, list[_Edge]] = {}
        self._methods: dict[str, list[Function]] = {}
        for function in reading.functions:
            if function.in_class is not None:
                self._methods.setdefault(function.node.name, []).append(function)
        self._decorated = {id(node): f for f in reading.functions for node in f.node.decorator_list}
        self._registered = self._registered_names()
        for use in reading.uses:
            self._add_edges(use)
        self._add_entry_points(entry_points)
        self._reached: dict[str, tuple[set[Function | None], set[Function | None]]] = {}

    def reach(self, context: Context, exception: str) -> Reach:
        """Return how a line is reached that raises an exception.

        Args:
            context: The line's circumstances.
            exception: The exception's name.
        """
        if _catches(context, exception):
            return Reach(Guard.CAUGHT, False)
        guard, conditional = self._conditions(context)
        if guard is not Guard.NONE:
            return Reach(guard, False)
        anyhow, surely = self._reachable(exception)
        if context.owner not in anyhow:
            return Reach(Guard.UNREACHED, False)
        return Reach(Guard.NONE, conditional or context.owner not in surely)

    def _conditions(self, context: Context) -> tuple[Guard, bool]:
        conditional = False
        for condition in context.conditions:
            if condition.handler:
                return Guard.CAUGHT, False
            if condition.test is None:
                conditional = True
                continue
            constant = self._constant(condition.test)
            if constant is not None:
                if constant is not condition.branch:
                    return Guard.UNREACHED, False
            elif self._asks(condition.test, condition.scope):
                return Guard.TESTED, False
            elif not condition.only_if_test:
                conditional = True
        return Guard.NONE, conditional

    def _constant(self, test: ast.expr) -> bool | None:
        """Return what a test always is, or None if that depends."""
        if isinstance(test, ast.Constant):
            return bool(test.value)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._constant(test.operand)
            return None if inner is None else not inner
        name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
        return False if name == "TYPE_CHECKING" else None

    def _asks(self, test: ast.expr, scope: Scope, depth: int = 0) -> bool:
        """Return whether an expression depends on what is installed."""
        key = (id(test), id(scope))
        if key not in self._asking:
            self._asking[key] = False
            self._asking[key] = any(self._node_asks(node, scope, depth) for node in ast.walk(test))
        return self._asking[key]

    def _node_asks(self, node: ast.AST, scope: Scope, depth: int) -> bool:
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            return name in _ASKING_CALLS
        if isinstance(node, ast.Attribute):
            return node.attr in _ASKING_ATTRIBUTES
        if isinstance(node, ast.Name):
            return "version" in node.id.lower() or self._name_asks(node.id, scope, depth)
        return False

    def _name_asks(self, name: str, scope: Scope, depth: int) -> bool:
        """Return whether a name's value depends on what is installed: `HAS_X = hasattr(...)`, or set in a try."""
        bindings = scope.lookup(name)
        if bindings is None or depth > _MAX_DEPTH:
            return False
        if len(bindings) > 1 and any(binding.in_try for binding in bindings):
            return True
        for binding in bindings:
            if binding.value is not None and binding.scope is not None:
                if self._asks(binding.value, binding.scope, depth + 1):
                    return True
            if binding.function is not None and self._body_asks(binding.function.node):
                return True
        return False

    @staticmethod
    def _body_asks(node: ast.AST) -> bool:
        """Return whether a small function looks at what is installed."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Attribute) and inner.attr in _ASKING_ATTRIBUTES:
                return True
            if isinstance(inner, ast.Call):
                name = inner.func.attr if isinstance(inner.func, ast.Attribute) else getattr(inner.func, "id", "")
                if name in ("hasattr", "find_spec", "signature", "import_module"):
                    return True
        return False

    # The call graph

    def _registered_names(self) -> set[int]:
        """Return the ids of nodes that stand in calls that only register functions."""
        found: set[int] = set()
        for use in self._reading.uses:
            node = use.node
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _REGISTER:
                found |= {id(part) for argument in node.args for part in ast.walk(argument)}
        return found

    def _add_edges(self, use: Use) -> None:
        node, context = use.node, use.context
        if use.role == "decorator":
            self._add_decorated(use)
        elif isinstance(node, ast.Name):
            for binding in use.scope.lookup(node.id) or ():
                if binding.function is not None:
                    self._edge(context, binding.function, id(node) in self._registered)
                elif binding.cls is not None:
                    self._add_class(context, binding.cls)
        elif isinstance(node, ast.Attribute):
            for method in self._methods.get(node.attr, ()):
                self._edge(context, method)

    def _edge(self, context: Context, target: Function, conditional: bool = False) -> None:
        if target is not context.owner:
            self._edges.setdefault(context.owner, []).append(_Edge(target, context, conditional))

    def _add_class(self, context: Context, cls: ast.ClassDef) -> None:
        """A class that is mentioned may be made and called."""
        for method in self._reading.classes.get(cls, ()):
            if method.name == "forward" or (method.name.startswith("__") and method.name.endswith("__")):
                self._edge(context, method)

    def _add_decorated(self, use: Use) -> None:
        function = self._decorated[id(use.node)]
        node = use.node
        called = node.func if isinstance(node, ast.Call) else node
        assert isinstance(called, ast.expr)
        names = {getattr(value, "name", "") for value in self._resolver.values(called, use.scope)}
        text = ast.unparse(called)
        later = bool(names & _LATER) or text in _LATER or text.rpartition(".")[2] in ("setter", "getter", "register")
        if not later:
            self._edge(use.context, function)

    def _add_entry_points(self, names: Sequence[str]) -> None:
        module = self._reading.module
        present = [name for name in names if name in module.bindings]
        outside = Context()
        for name in present:
            for binding in module.bindings[name]:
                if binding.function is not None:
                    self._edge(outside, binding.function)
                elif binding.cls is not None:
                    self._add_class(outside, binding.cls)
        if not present:
            for function in self._reading.functions:
                if function.owner is None:
                    self._edge(outside, function)

    def _reachable(self, exception: str) -> tuple[set[Function | None], set[Function | None]]:
        """Return the functions reached where the exception is not caught, and those reached in every run."""
        if exception not in self._reached:
            free: dict[int, tuple[bool, bool]] = {}
            for edges in self._edges.values():
                for edge in edges:
                    guard, conditional = self._conditions(edge.context)
                    guarded = guard is not Guard.NONE or _catches(edge.context, exception)
                    free[id(edge)] = (not guarded, not (guarded or conditional or edge.conditional))
            self._reached[exception] = (
                self._closure({key for key, (anyhow, _) in free.items() if anyhow}),
                self._closure({key for key, (_, surely) in free.items() if surely}),
            )
        return self._reached[exception]

    def _closure(self, edges: set[int]) -> set[Function | None]:
        reached: set[Function | None] = {None}
        waiting: list[Function | None] = [None]
        while waiting:
            for edge in self._edges.get(waiting.pop(), ()):
                if id(edge) in edges and edge.target not in reached:
                    reached.add(edge.target)
                    waiting.append(edge.target)
        return reached


def _catches(context: Context, exception: str) -> bool:
    if exception == "ModuleNotFoundError" and "ImportError" in context.catches:
        return True
    return "*" in context.catches or exception in context.catches
