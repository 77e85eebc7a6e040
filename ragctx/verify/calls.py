"""Whether a call fits the signature of what it calls."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ragctx.verify.resolve import Partial
from ragctx.verify.symbols import Class, Function, Instance, Parameters, SymbolTable


@dataclass(frozen=True, slots=True)
class Misfit:
    """What is wrong with a call.

    Attributes:
        node: The part that is wrong.
        message: What is wrong, without the name of what is called.
        keyword: The keyword that is not accepted, or None.
        parameters: What is accepted.
    """

    node: ast.AST
    message: str
    keyword: str | None
    parameters: Parameters


@dataclass(frozen=True, slots=True)
class Given:
    """What a call gives: positional arguments, keywords with their nodes, and whether each is all there is."""

    positional: int
    keywords: tuple[tuple[str, ast.AST], ...]
    all_positional: bool = True
    all_keywords: bool = True

    @classmethod
    def by(cls, node: ast.Call, *, skip: int = 0) -> Given:
        """Return what a call gives, its first `skip` arguments left out."""
        arguments = node.args[skip:]
        plain = [item for item in arguments if not isinstance(item, ast.Starred)]
        named = tuple((item.arg, item) for item in node.keywords if item.arg is not None)
        return cls(len(plain), named, len(plain) == len(arguments), len(named) == len(node.keywords))


def misfits(
    table: SymbolTable, target: Function | Class | Instance | Partial, given: Given, node: ast.AST
) -> list[Misfit]:
    """Return what is wrong with calling `target`.

    Args:
        table: The symbol table.
        target: What is called.
        given: The arguments.
        node: The call, for what concerns it as a whole.
    """
    if isinstance(target, Partial):
        if not isinstance(target.target, Function | Class | Instance):
            return []
        parameters = table.call_parameters(target.target)
        if parameters is None:
            return []
        if target.positional > len(parameters.positional) and not parameters.any_positional:
            return []
        # A keyword given again replaces the partial's; what the partial gives wrongly is reported where it is made.
        named = {name for name, _ in given.keywords}
        accepted = target.keywords if parameters.any_keyword else target.keywords & frozenset(parameters.keywords)
        before = tuple((name, node) for name in sorted(accepted - named))
        given = Given(
            target.positional + given.positional,
            (*given.keywords, *before),
            target.exact and given.all_positional,
            target.exact and given.all_keywords,
        )
    else:
        parameters = table.call_parameters(target)
        if parameters is None:
            return []
    found = binding_misfits(parameters, given, node)
    return found or missing_arguments(parameters, given, node)


def binding_misfits(parameters: Parameters, given: Given, node: ast.AST) -> list[Misfit]:
    """Return what no further argument could put right: unknown keywords, too many arguments, one given twice."""
    found: list[Misfit] = []
    for name, place in given.keywords:
        if name in parameters.keywords or parameters.any_keyword:
            continue
        if name in parameters.positional:
            message = f"takes '{name}' by position only"
        else:
            message = f"has no keyword '{name}'"
        found.append(Misfit(place, message, name, parameters))
    limit = len(parameters.positional)
    if given.positional > limit and not parameters.any_positional:
        count = f"{limit} positional argument{'' if limit == 1 else 's'}"
        found.append(Misfit(node, f"takes {count}, not {given.positional}", None, parameters))
        return found
    taken = set(parameters.positional[: given.positional])
    for name, place in given.keywords:
        if name in taken and name in parameters.keywords:
            found.append(Misfit(place, f"is given '{name}' twice, by position and by name", None, parameters))
    return found


def missing_arguments(parameters: Parameters, given: Given, node: ast.AST) -> list[Misfit]:
    """Return the misfit of a call that leaves out what is required."""
    if not given.all_positional or not given.all_keywords:
        return []
    have = {*parameters.positional[: given.positional], *(name for name, _ in given.keywords)}
    names = [*parameters.positional, *(n for n in parameters.keywords if n not in parameters.positional)]
    missing = [name for name in names if name in parameters.required and name not in have]
    if not missing:
        return []
    listed = ", ".join(f"'{name}'" for name in missing)
    return [Misfit(node, f"needs {listed}", None, parameters)]


def call_text(parameters: Parameters) -> str:
    """Return the parameters as a reader would write them, optional ones with `=`."""
    shown = [name if name in parameters.required else f"{name}=" for name in parameters.positional]
    if parameters.any_positional:
        shown.append("*")
    rest = [name for name in parameters.keywords if name not in parameters.positional]
    if rest and not parameters.any_positional:
        shown.append("*")
    shown += [name if name in parameters.required else f"{name}=" for name in rest if not name.startswith("_")]
    return ", ".join(shown) + (", ..." if parameters.any_keyword else "")
