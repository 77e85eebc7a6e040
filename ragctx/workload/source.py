"""Reading a workload file's text: what it declares and calls, without running it or importing JAX."""

from __future__ import annotations

import ast
import builtins
import io
import tokenize
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ragctx.errors import RagctxError
from ragctx.files import read_text
from ragctx.workload.calls import (
    PRIMITIVES_OF_CALL,
    SCATTER_METHODS,
    USUAL_ALIASES,
    usual_name,
)
from ragctx.workload.constants import Unknown, evaluate
from ragctx.workload.operators import recognise

_EXPECTED = "define `CONFIG`, `create_inputs(dtype=...)` and `workload(*inputs)` in it"
_BUILTINS = frozenset(dir(builtins))
_CONTRACT = frozenset("CONFIG CHECK TOLERANCE MESH_AXES IN_SPECS OUT_SPEC create_inputs workload get_flops".split())
# They make the inputs and count; what they call says nothing of the operator.
_BESIDE = frozenset({"create_inputs", "get_flops"})


MAX_CHARACTERS = 2_000_000
"""Parsing more takes minutes and gigabytes, and nobody writes it by hand."""


@dataclass(frozen=True, slots=True)
class WorkloadSource:
    """What the text of a workload file says.

    Attributes:
        path: The file.
        name: File stem; the folder's name for a checkout's `baseline.py`.
        text: The source code.
        docstring: The module's docstring, or "".
        config: The literals of CONFIG; entries that are not constant expressions are left out.
        check: The literals of CHECK, or an empty mapping.
        functions: Functions defined at module level, in order.
        parameters: Parameter names of `workload`, in order.
        identifiers: Names and attribute chains, by their usual alias, in order of first use; without the contract's own
            names and what stands in `create_inputs` and `get_flops`. Likewise the next two.
        calls: Chains that reach into an imported module, by their usual alias, with the number of uses.
        primitives: Guessed JAX primitives with the number of calls that come to them, by name.
        comments: Comments without `#`, in order.
        operators: Operator words recognised in names, docstring, comments and CONFIG, sorted.
    """

    path: Path
    name: str
    text: str = field(repr=False)
    docstring: str = ""
    config: Mapping[str, object] = field(default_factory=dict)
    check: Mapping[str, object] = field(default_factory=dict)
    functions: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    calls: Mapping[str, int] = field(default_factory=dict)
    primitives: Mapping[str, int] = field(default_factory=dict)
    comments: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()


def read_workload(path: Path | str) -> WorkloadSource:
    """Read a workload file's text.

    Raises:
        RagctxError: If the file cannot be read, is larger than any program, has a syntax error, has no `workload`, or
            its CONFIG or CHECK is not a dict of the contract's form.
    """
    path = Path(path)
    text = read_text(path, what="workload file")
    if len(text) > MAX_CHARACTERS:
        raise RagctxError(
            f"a workload of {len(text):,} characters is more than {MAX_CHARACTERS:,}",
            where=str(path),
            remedy="make data in create_inputs instead of writing it out",
        )
    tree = parse(text, str(path))
    _require_workload(tree, path)
    constants = _module_constants(tree)
    config = _sizes("CONFIG", tree, constants, path)
    check = _sizes("CHECK", tree, constants, path)
    unknown = sorted(set(check) - set(config))
    if unknown and config:
        raise RagctxError(
            f"CHECK has keys that CONFIG lacks: {', '.join(unknown)}",
            where=str(path),
            remedy="CHECK overrides sizes of CONFIG",
        )
    usage = read_code(tree)
    functions = tuple(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    name = path.resolve().parent.name if path.name == "baseline.py" else path.stem
    docstring = ast.get_docstring(tree) or ""
    comments = _comments(text)
    values = [value for value in config.values() if isinstance(value, str)]
    return WorkloadSource(
        path=path,
        name=name,
        text=text,
        docstring=docstring,
        config=config,
        check=check,
        functions=functions,
        parameters=_parameters(tree),
        identifiers=usage.identifiers,
        calls=usage.calls,
        comments=comments,
        operators=recognise([name, docstring, *comments, *values, *functions]),
        primitives=usage.primitives,
    )


def parse(text: str, where: str) -> ast.Module:
    """Return the syntax tree of Python code.

    Raises:
        RagctxError: If it is not Python; the message names file and line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.parse(text)
    except SyntaxError as error:
        raise RagctxError(
            f"syntax error: {error.msg}", where=f"{where}:{error.lineno or 1}", remedy="fix the file"
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) or type(error).__name__
        raise RagctxError(f"cannot parse: {reason}", where=where, remedy="fix the file") from None


@dataclass(frozen=True, slots=True)
class CodeUsage:
    """Names, module calls and guessed primitives of a piece of code, as in `WorkloadSource`."""

    identifiers: tuple[str, ...]
    calls: Mapping[str, int]
    primitives: Mapping[str, int]


def read_code(tree: ast.AST) -> CodeUsage:
    """Return what a syntax tree names and calls, with import aliases resolved to the usual ones."""
    visitor = _Usage()
    visitor.visit(tree)
    return CodeUsage(
        identifiers=tuple(visitor.names),
        calls=dict(sorted(visitor.calls.items())),
        primitives=dict(sorted(visitor.primitives.items())),
    )


class _Usage(ast.NodeVisitor):
    """Collects names in source order."""

    def __init__(self) -> None:
        # A fragment that imports nothing means the usual modules by their usual aliases.
        self.aliases = {alias: module for module, alias in USUAL_ALIASES.items()} | {"jax": "jax"}
        self.names: dict[str, None] = {}
        self.calls: dict[str, int] = {}
        self.primitives: dict[str, int] = {}

    def visit_Import(self, node: ast.Import) -> None:
        for item in node.names:
            bound = item.asname or item.name.split(".")[0]
            self.aliases[bound] = item.name if item.asname else bound

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        for item in node.names:
            self.aliases[item.asname or item.name] = f"{module}.{item.name}" if module.strip(".") else item.name

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._define(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._define(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._define(node)

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        if node.name in _BESIDE:
            return
        self._name(node.name)
        self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        self._name(node.arg)
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg is not None:
            self._name(node.arg)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self.aliases:
            self._module_name(self.aliases[node.id])
        else:
            self._name(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain = _chain(node)
        if chain and chain[0] in self.aliases:
            self._module_name(".".join([self.aliases[chain[0]], *chain[1:]]))
            return
        self.visit(node.value)
        self._name(node.attr)
        if isinstance(node.value, ast.Subscript) and isinstance(node.value.value, ast.Attribute):
            if node.value.value.attr == "at" and node.attr in SCATTER_METHODS:
                self._primitive(SCATTER_METHODS[node.attr])

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.visit(node.left)
        # `*` and the like also compute sizes; only the matrix product is sure to be on arrays.
        if isinstance(node.op, ast.MatMult):
            self._primitive("dot_general")
        self.visit(node.right)

    def _name(self, name: str) -> None:
        if name not in _BUILTINS and name not in _CONTRACT and name != "_":
            self.names.setdefault(name)

    def _module_name(self, dotted: str) -> None:
        name = usual_name(dotted)
        self.names.setdefault(name)
        self.calls[name] = self.calls.get(name, 0) + 1
        for primitive in PRIMITIVES_OF_CALL.get(name, ()):
            self._primitive(primitive)

    def _primitive(self, primitive: str) -> None:
        self.primitives[primitive] = self.primitives.get(primitive, 0) + 1


def _chain(node: ast.expr) -> list[str]:
    """Return the parts of `a.b.c`, or nothing if it does not start with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return []
    return [node.id, *reversed(parts)]


def _bindings(tree: ast.Module) -> dict[str, ast.stmt]:
    """Return the statement that last binds each module-level name."""
    bound: dict[str, ast.stmt] = {}
    for node in ast.walk(tree):
        # Guards such as `try: ... except ImportError:` also bind module-level names; function bodies do not.
        if not isinstance(node, ast.Module | ast.If | ast.Try | ast.With):
            continue
        for child in ast.iter_child_nodes(node):
            for name in _bound_names(child):
                if isinstance(child, ast.stmt):
                    bound[name] = child
    return bound


def _bound_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return [node.target.id]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [item.asname or item.name for item in node.names]
    return []


def _require_workload(tree: ast.Module, path: Path) -> None:
    bound = _bindings(tree)
    # A star import may bring any name; only running the file can tell.
    if "workload" in bound or "*" in bound:
        return
    problem = "has no function `workload`"
    if isinstance(bound.get("Model"), ast.ClassDef):
        problem += " (a class `Model` alone is not a workload)"
    raise RagctxError(problem, where=str(path), remedy=_EXPECTED)


def _module_constants(tree: ast.Module) -> dict[str, object]:
    """Evaluate the module-level assignments that are constant expressions, in order."""
    known: dict[str, object] = {}
    for node in tree.body:
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        for name in _bound_names(node):
            known.pop(name, None)
            if value is not None:
                try:
                    known[name] = evaluate(value, known)
                except Unknown:
                    continue
    return known


def _sizes(name: str, tree: ast.Module, constants: Mapping[str, object], path: Path) -> Mapping[str, object]:
    """Return CONFIG or CHECK as far as it is constant; an unknown expression counts as empty."""
    if name not in constants:
        return {}
    value = constants[name]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return dict(value)
    statement = _bindings(tree)[name]
    problem = f"`{name}` is not a dict" if not isinstance(value, dict) else f"`{name}` has keys that are not strings"
    raise RagctxError(problem, where=f"{path}:{statement.lineno}", remedy=f'write {name} = {{"size name": value, ...}}')


def _parameters(tree: ast.Module) -> tuple[str, ...]:
    node = _bindings(tree).get("workload")
    if not isinstance(node, ast.FunctionDef):
        return ()
    arguments = node.args
    return tuple(argument.arg for argument in (*arguments.posonlyargs, *arguments.args))


def _comments(text: str) -> tuple[str, ...]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return ()
    return tuple(token.string.lstrip("#! ").rstrip() for token in tokens if token.type == tokenize.COMMENT)
