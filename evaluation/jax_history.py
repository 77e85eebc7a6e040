"""Which names and keywords JAX lost in which version: the facts behind corpus/renames.yaml.

    python evaluation/jax_history.py INTERPRETER...            # one a version; prints what each version lacks first
    python evaluation/jax_history.py --check INTERPRETER...    # holds every `since` of corpus/renames.yaml against them

Each interpreter is a virtual environment's, with one version of JAX (CPU only; absl-py as well, which some versions
import and do not require). The versions should be all there are between the first and the last given, or a version is
named that is later than the true one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence

from packaging.version import Version

from ragctx import data
from ragctx.errors import RagctxError
from ragctx.verify.renames import load_renames
from ragctx.verify.symbols import ALIASES, Class, Module, SymbolTable, build_table, shown

MODULES = (
    *ALIASES.values(),
    *("jax", "jax.nn", "jax.random", "jax.core", "jax.sharding", "jax.tree_util", "jax.experimental", "jax.lib"),
    *("jax.scipy.special", "jax.experimental.shard_map"),
)


def tables(interpreters: Iterable[str]) -> list[SymbolTable]:
    """Return the tables of the interpreters' JAX, oldest first."""
    return sorted((SymbolTable(build_table(python)) for python in interpreters), key=lambda table: Version(table.jax))


def lost_names(history: Sequence[SymbolTable]) -> Iterator[tuple[str, str]]:
    """Yield (first version without it, name) for names and enum members that the last version lacks."""
    for module in MODULES:
        names = {name for table in history for name in table.modules.get(module, {}).get("names", {})}
        for name in sorted(names):
            full = f"{shown(module)}.{name}"
            yield from gone_since(history, full)
            members = {m for table in history for m in enum_members(table, module, name)}
            for member in sorted(members):
                if history[-1].lookup(full) is not False:
                    yield from gone_since(history, f"{full}.{member}")


def enum_members(table: SymbolTable, module: str, name: str) -> list[str]:
    symbol = table.attribute(Module(module), name) if module in table.modules else False
    return table.names(symbol) if isinstance(symbol, Class) and table.is_enum(symbol) else []


def gone_since(history: Sequence[SymbolTable], name: str) -> Iterator[tuple[str, str]]:
    there = [table.lookup(name) is not False for table in history]
    if any(there) and not there[-1]:
        last = max(number for number, found in enumerate(there) if found)
        yield history[last + 1].jax, name


def lost_keywords(history: Sequence[SymbolTable]) -> Iterator[tuple[str, str]]:
    """Yield (first version without it, callable(keyword)) for keywords that a later version does not take."""
    for module in MODULES:
        for name in sorted({n for table in history for n in table.modules.get(module, {}).get("names", {})}):
            full = f"{shown(module)}.{name}"
            before: frozenset[str] = frozenset()
            for table in history:
                taken = keywords(table, full)
                if taken is not None:
                    yield from ((table.jax, f"{full}({keyword}=)") for keyword in sorted(before - taken))
                    before = taken


def keywords(table: SymbolTable, name: str) -> frozenset[str] | None:
    """Return the keywords a callable takes; None if it takes any, is not there or its signature is not known."""
    symbol = table.lookup(name)
    parameters = None if isinstance(symbol, bool) else table.call_parameters(symbol)
    return None if parameters is None or parameters.any_keyword else frozenset(parameters.keywords)


def contradictions(history: Sequence[SymbolTable]) -> Iterator[str]:
    """Yield what the table of renames says that the versions do not."""
    renames = load_renames(data.corpus())
    lost = dict((name, version) for version, name in lost_names(history))
    for rename in renames.names.values():
        found = lost.get(rename.old)
        if found != rename.since:
            yield f"{rename.old}: the table says {rename.since}, the versions {found}"
    gone = {text: version for version, text in lost_keywords(history)}
    for (target, keyword), rename in renames.keywords.items():
        found = gone.get(f"{target}({keyword}=)")
        if found != rename.since:
            yield f"{target}({keyword}=): the table says {rename.since}, the versions {found}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="+", metavar="INTERPRETER")
    parser.add_argument("--check", action="store_true", help="hold corpus/renames.yaml against the versions")
    arguments = parser.parse_args()
    try:
        history = tables(arguments.interpreters)
    except RagctxError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    print(f"jax {', '.join(table.jax for table in history)}", file=sys.stderr)
    if arguments.check:
        found = list(contradictions(history))
        print("\n".join(found))
        return 3 if found else 0
    for version, text in sorted({*lost_names(history), *lost_keywords(history)}, key=lambda x: (Version(x[0]), x[1])):
        print(f"{version}\t{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
