from __future__ import annotations

import subprocess
import sys

import pytest

import ragctx.corpus


def test_every_public_name_resolves_and_the_list_is_sorted() -> None:
    assert ragctx.corpus.__all__ == sorted(ragctx.corpus.__all__)
    for name in ragctx.corpus.__all__:
        assert getattr(ragctx.corpus, name) is not None
    with pytest.raises(AttributeError, match="^module 'ragctx.corpus' has no attribute 'nothing'$"):
        ragctx.corpus.nothing  # noqa: B018


def _run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout


def test_documents_alone_import_nothing_else() -> None:
    program = """
import ragctx.corpus, sys
print(*sorted(m for m in sys.modules if m.startswith("ragctx")), "yaml" in sys.modules, "jax" in sys.modules)
"""
    assert _run(program) == "ragctx ragctx.corpus ragctx.corpus.document ragctx.errors False False\n"


def test_naming_the_rest_imports_neither_yaml_nor_packaging_nor_jax() -> None:
    program = """
import ragctx.corpus as corpus, sys
corpus.load_corpus, corpus.read_api, corpus.matching
print([m for m in ("yaml", "packaging", "jax") if m in sys.modules])
"""
    assert _run(program) == "[]\n"
