"""Constant expressions in a syntax tree, evaluated without running code."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping

_LIMIT = 2**128
_ARITHMETIC: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


class Unknown(Exception):
    """The expression is not a constant that reading the text can tell."""


def evaluate(node: ast.expr, known: Mapping[str, object]) -> object:
    """Return the value of literals, containers of them, arithmetic on numbers, known names and `dict(...)`.

    An entry of a dict whose value is unknown is left out, so that the others can be used.

    Raises:
        Unknown: If it is anything else.
    """
    match node:
        case ast.Constant():
            return node.value
        case ast.Name() if node.id in known:
            return known[node.id]
        case ast.Tuple() | ast.List():
            values = [evaluate(item, known) for item in node.elts]
            return tuple(values) if isinstance(node, ast.Tuple) else values
        case ast.Dict():
            return _entries(zip(node.keys, node.values, strict=True), known)
        case ast.Call(func=ast.Name(id="dict"), args=[]):
            return _entries(
                ((ast.Constant(item.arg) if item.arg else None, item.value) for item in node.keywords), known
            )
        case ast.Subscript(value=ast.Name()):
            return _subscript(node, known)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            value = _number(evaluate(node.operand, known))
            return -value if isinstance(node.op, ast.USub) else value
        case ast.BinOp():
            return _arithmetic(node, known)
    raise Unknown


def _entries(pairs: Iterable[tuple[ast.expr | None, ast.expr]], known: Mapping[str, object]) -> dict[object, object]:
    result: dict[object, object] = {}
    for key, value in pairs:
        if key is None:  # `**other`
            other = evaluate(value, known)
            if not isinstance(other, dict):
                raise Unknown
            result.update(other)
            continue
        name = evaluate(key, known)
        try:
            result[name] = evaluate(value, known)
        except Unknown:
            continue
        except TypeError:
            raise Unknown from None
    return result


def _subscript(node: ast.Subscript, known: Mapping[str, object]) -> object:
    container, key = evaluate(node.value, known), evaluate(node.slice, known)
    try:
        return container[key]  # type: ignore[index]
    except (TypeError, KeyError, IndexError):
        raise Unknown from None


def _number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unknown
    return value


def _arithmetic(node: ast.BinOp, known: Mapping[str, object]) -> object:
    function = _ARITHMETIC.get(type(node.op))
    if function is None:
        raise Unknown
    left, right = _number(evaluate(node.left, known)), _number(evaluate(node.right, known))
    # Sizes are small; a tower of powers in a stranger's file must not take the process's memory.
    if abs(left) > _LIMIT or abs(right) > _LIMIT or (isinstance(node.op, ast.Pow) and abs(right) > 64):
        raise Unknown
    try:
        return _number(function(left, right))
    except ArithmeticError:
        raise Unknown from None
