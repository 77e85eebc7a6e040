"""The symbol table of the installed JAX, built once for a test session."""

from __future__ import annotations

import functools
import sys

from ragctx.verify.symbols import SymbolTable, build_table


@functools.cache
def installed_table() -> SymbolTable:
    return SymbolTable(build_table(sys.executable))
