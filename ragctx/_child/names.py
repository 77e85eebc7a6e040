"""Answers what names, call signatures and primitives the JAX of this interpreter has.

Request: {"aliases": {"pl": "jax.experimental.pallas", ...}, "names": [...], "signatures": [...], "primitives": [...],
"members": [...]}, where any list may be left out.
Answer: {"names": {name: null or why not}, "signatures": {signature: null or what differs}, "primitives": {name: bool},
"members": {name of an enum: its members}}.

A signature is written as a call, `pl.ds(start, size=None, stride=None)`. Defaults are literals, names of the API
(`pl.no_block_spec`) or calls of them without arguments; `...` stands for a default that has no public name. Private
parameters are left out. A name that only works with a deprecation warning does not count as one.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

Parameter = inspect.Parameter


def resolve(dotted: str, aliases: Mapping[str, str]) -> Any:
    """Return what a dotted name stands for: the longest prefix that is a module, then attributes."""
    first, *rest = dotted.split(".")
    value: Any = importlib.import_module(aliases.get(first, first))
    for part in rest:
        try:
            value = getattr(value, part)
        except AttributeError as error:
            if not inspect.ismodule(value):
                raise
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
            except ModuleNotFoundError:
                raise error from None
    return value


def default_differs(node: ast.expr, actual: object, aliases: Mapping[str, str]) -> bool:
    """Return whether a default as written is another than the actual one."""
    if isinstance(node, ast.Constant) and node.value is Ellipsis:
        return type(actual).__name__ != "NotSpecified"
    expected: object
    if isinstance(node, ast.Call):
        expected = resolve(ast.unparse(node.func), aliases)()
    elif isinstance(node, (ast.Name, ast.Attribute)):
        expected = resolve(ast.unparse(node), aliases)
    else:
        expected = ast.literal_eval(node)
    return type(expected) is not type(actual) or bool(expected != actual)


def written_parameters(arguments: ast.arguments) -> list[tuple[str, Any, ast.expr | None]]:
    """Return (name, kind, default or None) for what is written between the parentheses."""
    positional: list[tuple[str, Any]] = [(a.arg, Parameter.POSITIONAL_ONLY) for a in arguments.posonlyargs]
    positional += [(a.arg, Parameter.POSITIONAL_OR_KEYWORD) for a in arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    found = [(name, kind, default) for (name, kind), default in zip(positional, defaults, strict=True)]
    if arguments.vararg:
        found.append((arguments.vararg.arg, Parameter.VAR_POSITIONAL, None))
    keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    found += [(a.arg, Parameter.KEYWORD_ONLY, default) for a, default in keyword_only]
    if arguments.kwarg:
        found.append((arguments.kwarg.arg, Parameter.VAR_KEYWORD, None))
    return found


def signature_problem(signature: str, aliases: Mapping[str, str]) -> str | None:
    """Return what is wrong with a written signature, or None."""
    name, _, parameters = signature.partition("(")
    (function,) = ast.parse(f"def f({parameters}: pass").body
    assert isinstance(function, ast.FunctionDef)
    written = written_parameters(function.args)
    actual = [p for p in inspect.signature(resolve(name, aliases)).parameters.values() if not p.name.startswith("_")]
    names = [(p.name, p.kind) for p in actual]
    if [(name, kind) for name, kind, _ in written] != names:
        return "the parameters are " + ", ".join(name for name, _ in names)
    for (name, _, default), parameter in zip(written, actual, strict=True):
        if default is None and parameter.default is Parameter.empty:
            continue
        if parameter.default is Parameter.empty:
            return f"{name} has no default"
        if default is None or default_differs(default, parameter.default, aliases):
            return f"{name}: the default is {parameter.default!r}"
    return None


def name_problem(name: str, aliases: Mapping[str, str]) -> None:
    """Resolve a name; what that raises is what is wrong with it."""
    resolve(name, aliases)


def problem(check: Callable[[str, Mapping[str, str]], str | None], text: str, aliases: Mapping[str, str]) -> str | None:
    """Return what a check says of a text; what it raises is what is wrong."""
    try:
        return check(text, aliases)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def primitive_names() -> set[str]:
    """Return the names of all primitives that JAX's modules hold."""
    from jax.extend.core import Primitive

    found: set[str] = set()
    for module in pkgutil.walk_packages(importlib.import_module("jax._src").__path__, "jax._src."):
        if module.name.startswith(("jax._src.test_", "jax._src.internal_test")):
            continue
        try:
            content = vars(importlib.import_module(module.name))
        except Exception:  # a module for hardware or a package that is not here
            continue
        found |= {value.name for value in content.values() if isinstance(value, Primitive)}
    return found


def main(request_path: str, answer_path: str) -> None:
    """Answer the request."""
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    aliases = request["aliases"]
    wanted = request.get("primitives", [])
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        names = {name: problem(name_problem, name, aliases) for name in request.get("names", [])}
        signatures = {call: problem(signature_problem, call, aliases) for call in request.get("signatures", [])}
        members = {name: [member.name for member in resolve(name, aliases)] for name in request.get("members", [])}
    primitives = primitive_names() if wanted else set()
    answer = {
        "names": names,
        "signatures": signatures,
        "primitives": {name: name in primitives for name in wanted},
        "members": members,
    }
    with open(answer_path, "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
