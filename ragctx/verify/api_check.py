"""The API check: every use of JAX in a file held against the installed JAX, without running either.

What cannot be told from the text is taken to be right. A finding that is caught, tested for or never reached is a note.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import functools
import platform
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from ragctx import data
from ragctx.failures import FailureKind
from ragctx.files import read_text
from ragctx.verify import calls
from ragctx.verify.calls import Given
from ragctx.verify.findings import Finding, Guard, Span
from ragctx.verify.guards import ENTRY_POINTS, Guards
from ragctx.verify.reading import Reading, Use, read
from ragctx.verify.renames import Misuse, Renames, Shape, is_shape, is_since, load_renames
from ragctx.verify.resolve import Foreign, Nothing, Partial, Resolver, Value
from ragctx.verify.symbols import Class, Function, Instance, Module, Symbol, SymbolTable, load_table, shown

_LINE_END = re.compile(r"\r\n|\r|\n")
_SYMBOLS = (Module, Function, Class, Instance)
# What a module has without binding it, and built-in names of Pythons other than this one.
_ALWAYS_BOUND = frozenset(dir(builtins)) | frozenset(
    """__name__ __file__ __doc__ __package__ __spec__ __loader__ __path__ __builtins__ __annotations__ __class__
    __cached__ __conditional_annotations__ PythonFinalizationError BaseExceptionGroup ExceptionGroup EncodingWarning
    WindowsError aiter anext frozendict get_ipython""".split()
)
_IMPORTS = {
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "lax": "from jax import lax",
    "np": "import numpy as np",
    "pl": "from jax.experimental import pallas as pl",
    "pltpu": "from jax.experimental.pallas import tpu as pltpu",
    "plsc": "from jax.experimental.pallas import tpu_sc as plsc",
    "functools": "import functools",
    "partial": "from functools import partial",
    "math": "import math",
    "shard_map": "from jax import shard_map",
}


def check_file(
    path: Path,
    *,
    python: str | None = None,
    cache: Path,
    renames: Renames | None = None,
    entry_points: Sequence[str] = ENTRY_POINTS,
) -> list[Finding]:
    """Check one file against an interpreter's JAX.

    Args:
        path: The file.
        python: The interpreter; this one by default.
        cache: The folder that symbol tables are cached below.
        renames: What became of old names; those of the shipped corpus by default.
        entry_points: What is called from outside.

    Raises:
        RagctxError: If the file cannot be read, or the interpreter has no JAX.
    """
    table = load_table(python, folder=cache)
    return check_source(read_text(path), table=table, filename=str(path), renames=renames, entry_points=entry_points)


def check_source(
    text: str,
    *,
    table: SymbolTable,
    filename: str = "<text>",
    renames: Renames | None = None,
    entry_points: Sequence[str] = ENTRY_POINTS,
) -> list[Finding]:
    """Check a Python source text.

    Args:
        text: The source.
        table: The symbol table to hold it against.
        filename: What the findings call it.
        renames: What became of old names; those of the shipped corpus by default, read when a name is missing.
        entry_points: Functions and classes that are called from outside; if the text defines none of them, everything
            it defines is taken to be called.

    Returns:
        The findings in order of the text; a syntax error is the only one.
    """
    lines = _LINE_END.split(text)
    tree = _parse(text, lines, filename, table)
    if isinstance(tree, Finding):
        return [tree]
    try:
        lazy = _minor(table.python) >= (3, 14)
        return _Check(table, filename, lines, renames).run(read(tree, lazy_annotations=lazy), entry_points)
    except RecursionError:
        # Python's own compiler took a text that is nested deeper than this walk can go.
        return []


def defined_names(text: str) -> frozenset[str]:
    """Return the names of functions and classes that a source text defines; empty if it does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, definitions))


@functools.cache
def shipped_renames() -> Renames:
    """Return the renames of the shipped corpus."""
    return load_renames(data.corpus())


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _parse(text: str, lines: Sequence[str], filename: str, table: SymbolTable) -> ast.Module | Finding:
    """Return the syntax tree, or the finding of what Python's compiler refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            # Some errors (return outside a function) are the compiler's, not the parser's. Nothing is executed.
            compile(text, "<candidate>", "exec", dont_inherit=True)
        return tree
    except SyntaxError as error:
        message, line, column = error.msg, error.lineno or 1, error.offset or 1
        end_line, end_column = error.end_lineno or line, error.end_offset or 0
    except ValueError as error:
        line = text.count("\n", 0, max(0, text.find("\0"))) + 1
        message, column, end_line, end_column = str(error), 1, line, 0
    except (RecursionError, MemoryError):
        message, line, column, end_line, end_column = "nested too deeply for Python's compiler", 1, 1, 1, 0
    newer = _minor(table.python) > _minor(platform.python_version())
    if end_line < line or (end_line == line and end_column <= column):
        end_line, end_column = line, column + 1
    return Finding(
        FailureKind.SYNTAX,
        filename,
        line,
        max(1, column),
        end_line,
        end_column,
        message,
        guard=Guard.OTHER_PYTHON if newer else Guard.NONE,
    )


class _Check:
    """Checks the uses of one file."""

    def __init__(self, table: SymbolTable, filename: str, lines: Sequence[str], renames: Renames | None) -> None:
        self._table = table
        self._filename = filename
        self._lines = lines
        self._given_renames = renames
        self._findings: dict[tuple[int, int, str], Finding] = {}
        self._resolver: Resolver
        self._guards: Guards
        self._reading: Reading

    @property
    def _renames(self) -> Renames:
        if self._given_renames is None:
            self._given_renames = shipped_renames()
        return self._given_renames

    def run(self, reading: Reading, entry_points: Sequence[str]) -> list[Finding]:
        """Return the findings in order of the text."""
        self._reading = reading
        self._resolver = Resolver(self._table, reading)
        self._guards = Guards(reading, self._resolver, entry_points)
        for use in reading.uses:
            if use.evaluated:
                self._check(use)
        return sorted(self._findings.values(), key=lambda found: (found.line, found.column, found.message))

    def _check(self, use: Use) -> None:
        node = use.node
        if use.role == "decorator":
            self._check_decorator(use, node)
        elif use.role == "with":
            self._check_with(use, node)
        elif isinstance(node, ast.ImportFrom):
            self._check_import_from(use, node)
        elif isinstance(node, ast.Import):
            for item in node.names:
                self._check_module(use, item, item.name)
        elif isinstance(node, ast.Attribute):
            self._check_attribute(use, node, self._resolver.values(node.value, use.scope), node.attr)
        elif isinstance(node, ast.Name):
            self._check_name(use, node)
        elif isinstance(node, ast.Call):
            self._check_call(use, node)

    def _report(
        self,
        use: Use,
        span: Span,
        kind: FailureKind,
        exception: str,
        message: str,
        suggestion: str,
        symbol: str,
    ) -> None:
        reach = self._guards.reach(use.context, exception)
        finding = Finding(
            kind,
            self._filename,
            span.line,
            span.column,
            span.end_line,
            span.end_column,
            " ".join(message.split()),
            " ".join(suggestion.split()),
            symbol,
            reach.guard,
            reach.conditional,
        )
        self._findings.setdefault((span.line, span.column, finding.message), finding)

    # Names

    def _check_module(self, use: Use, place: ast.AST, module: str) -> bool:
        """Check that a module exists."""
        if self._resolver.module_values(module):
            return True
        parent, name = module.rpartition(".")[::2]
        owner = self._table.module(parent)
        while owner is None:
            parent, name = parent.rpartition(".")[::2]
            owner = self._table.module(parent)
        message, suggestion = self._renames.name_advice(self._table, owner, name)
        symbol = f"{shown(owner.name)}.{name}"
        span = Span.of(place, self._lines)
        self._report(use, span, FailureKind.API_NAME, "ModuleNotFoundError", message, suggestion, symbol)
        return False

    def _check_import_from(self, use: Use, node: ast.ImportFrom) -> None:
        if node.level or node.module is None or not self._check_module(use, node, node.module):
            return
        owners = list(self._resolver.module_values(node.module))
        for item in node.names:
            if item.name != "*" and len(owners) == 1 and isinstance(owners[0], Module):
                self._check_missing(use, Span.of(item, self._lines), owners, item.name, "ImportError")

    def _check_attribute(self, use: Use, node: ast.Attribute, owners: frozenset[Value], name: str) -> None:
        span = Span.of(node, self._lines)
        if span.line != span.end_line:
            span = Span(span.end_line, span.end_column - len(name), span.end_line, span.end_column)
        self._check_missing(use, span, sorted(owners, key=repr), name, "AttributeError")

    def _check_missing(self, use: Use, span: Span, owners: Sequence[Value], name: str, exception: str) -> None:
        """Report a name that none of its possible owners has."""
        known: list[Symbol] = [owner for owner in owners if isinstance(owner, _SYMBOLS)]
        if not known or not all(isinstance(owner, (*_SYMBOLS, Nothing)) for owner in owners):
            return
        for owner in known:
            if self._resolver.is_patched(owner, name) or self._table.attribute(owner, name) is not False:
                return
        message, suggestion = self._renames.name_advice(self._table, known[0], name)
        symbol = f"{shown(known[0].name)}.{name}"
        self._report(use, span, FailureKind.API_NAME, exception, message, suggestion, symbol)

    def _check_name(self, use: Use, node: ast.Name) -> None:
        """Report a name that nothing in the file binds."""
        if not isinstance(node.ctx, ast.Load) or node.id in _ALWAYS_BOUND or self._reading.dynamic:
            return
        if use.scope.lookup(node.id) is not None:
            return
        for module in self._reading.module.star_modules:
            known = self._table.module(module)
            if known is None or not known.known or node.id in self._table.star_names(module):
                return
        suggestion = f"add: {_IMPORTS[node.id]}" if node.id in _IMPORTS else ""
        if not suggestion:
            bound = sorted({name for scope in use.scope.visible() for name in scope.bindings})
            close = difflib.get_close_matches(node.id, bound, n=1, cutoff=0.8)
            suggestion = f"did you mean {close[0]}" if close else ""
        self._report(
            use,
            Span.of(node, self._lines),
            FailureKind.UNDEFINED_NAME,
            "NameError",
            f"name '{node.id}' is not defined",
            suggestion,
            node.id,
        )

    # Calls

    def _check_call(self, use: Use, node: ast.Call) -> None:
        asked = self._resolver.getattr_call(node, use.scope)
        if asked is not None:
            if len(node.args) == 2:
                owners = sorted(asked[0], key=repr)
                self._check_missing(use, Span.of(node, self._lines), owners, asked[1], "AttributeError")
            return
        functions = sorted(self._resolver.values(node.func, use.scope), key=repr)
        if len(functions) == 1 and isinstance(functions[0], Foreign) and functions[0].name == "functools.partial":
            self._check_partial(use, node)
            return
        if all(isinstance(function, (*_SYMBOLS, Partial)) for function in functions):
            self._check_fit(use, functions, Given.by(node), node)
        for function in functions[:1] if len(functions) == 1 else ():
            if isinstance(function, _SYMBOLS):
                self._check_values(use, function, node)

    def _check_fit(self, use: Use, functions: Sequence[Value], given: Given, node: ast.AST) -> None:
        """Report a call that fits none of the functions it may be of."""
        first: tuple[Value, list[calls.Misfit]] | None = None
        for function in functions:
            if isinstance(function, Class) and self._table.is_abstract(function):
                if len(functions) == 1:
                    self._report_abstract(use, function, node)
                return
            if not isinstance(function, Function | Class | Instance | Partial):
                return
            wrong = calls.misfits(self._table, function, given, node)
            if not wrong:
                return
            first = first or (function, wrong)
        if first is not None:
            for misfit in first[1]:
                self._report_misfit(use, first[0], misfit)

    def _check_partial(self, use: Use, node: ast.Call) -> None:
        """Report arguments of functools.partial that no later argument could put right."""
        if not node.args or isinstance(node.args[0], ast.Starred):
            return
        functions = sorted(self._resolver.values(node.args[0], use.scope), key=repr)
        if len(functions) != 1 or not isinstance(functions[0], Function | Class | Instance):
            return
        parameters = self._table.call_parameters(functions[0])
        if parameters is not None:
            for misfit in calls.binding_misfits(parameters, Given.by(node, skip=1), node):
                self._report_misfit(use, functions[0], misfit)
        self._check_values(use, functions[0], node, skip=1)

    def _check_decorator(self, use: Use, node: ast.AST) -> None:
        """Report a decorator that cannot be called with just the function it decorates."""
        assert isinstance(node, ast.expr)
        functions = sorted(self._resolver.values(node, use.scope), key=repr)
        if functions and all(isinstance(function, Function | Class | Partial) for function in functions):
            self._check_fit(use, functions, Given(1, ()), node)

    def _report_misfit(self, use: Use, function: Value, misfit: calls.Misfit) -> None:
        symbol = function.target if isinstance(function, Partial) else function
        assert isinstance(symbol, _SYMBOLS)
        name = shown(symbol.name)
        message, suggestion = f"{name} {misfit.message}", f"its parameters are: {calls.call_text(misfit.parameters)}"
        if misfit.keyword is not None and misfit.keyword not in misfit.parameters.positional:
            message, suggestion = self._renames.keyword_advice(self._table, name, misfit.keyword, misfit.parameters)
        span = Span.of(misfit.node, self._lines)
        self._report(use, span, FailureKind.API_KEYWORD, "TypeError", message, suggestion, name)

    def _report_abstract(self, use: Use, cls: Class, node: ast.AST) -> None:
        last = cls.name.rpartition(".")[2]
        for module in ("pltpu", "pl"):
            found = self._table.lookup(f"{module}.{last}")
            if isinstance(found, Class) and found.key != cls.key and not self._table.is_abstract(found):
                suggestion = f"use {module}.{last}"
                break
        else:
            suggestion = ""
        span = Span.of(node, self._lines)
        message = f"{cls.name} is only a base class and cannot be called"
        self._report(use, span, FailureKind.API_NAME, "TypeError", message, suggestion, cls.name)

    # Values that are not taken

    def _misuses(self, name: str) -> Iterator[Misuse]:
        for misuse in self._renames.misuses:
            if misuse.callable == name and (misuse.since is None or is_since(self._table, misuse.since)):
                yield misuse

    def _check_values(self, use: Use, symbol: Symbol, node: ast.Call, *, skip: int = 0) -> None:
        """Report arguments whose kind of value is refused."""
        if not isinstance(symbol, Function | Class):
            return
        name = shown(symbol.name)
        if name.split(".")[0] not in ("pl", "pltpu", "plsc"):
            return
        parameters = self._table.call_parameters(symbol)
        for misuse in self._misuses(name):
            if misuse.given is Shape.WITH or parameters is None:
                continue
            argument = _argument(node, misuse.argument, parameters.positional, skip)
            if argument is not None and is_shape(argument, misuse.given):
                self._report_misuse(use, misuse, argument, f"{name} takes no {misuse.given} for {misuse.argument}")

    def _check_with(self, use: Use, node: ast.AST) -> None:
        """Report a with statement whose subject is no context manager."""
        if not isinstance(node, ast.Call):
            return
        functions = list(self._resolver.values(node.func, use.scope))
        if len(functions) == 1 and isinstance(functions[0], Function):
            name = shown(functions[0].name)
            for misuse in self._misuses(name) if name.startswith("pl") else ():
                if misuse.given is Shape.WITH:
                    self._report_misuse(use, misuse, node, f"{name}(...) is no context manager")

    def _report_misuse(self, use: Use, misuse: Misuse, node: ast.AST, message: str) -> None:
        suggestion = " or ".join(misuse.new)
        suggestion = f"use {suggestion}" if suggestion else ""
        if misuse.note:
            suggestion = f"{suggestion} ({misuse.note})" if suggestion else misuse.note
        span = Span.of(node, self._lines)
        self._report(use, span, FailureKind.API_KEYWORD, "TypeError", message, suggestion, misuse.callable)


def _argument(node: ast.Call, name: str, positional: Sequence[str], skip: int) -> ast.expr | None:
    """Return what a call gives for a parameter, if that can be told."""
    for keyword in node.keywords:
        if keyword.arg == name:
            return keyword.value
    arguments = node.args[skip:]
    if name in positional:
        index = positional.index(name)
        if index < len(arguments) and not any(isinstance(item, ast.Starred) for item in arguments[: index + 1]):
            return arguments[index]
    return None
