import subprocess
import sys

import pytest

import ragctx


def test_all_is_sorted_and_every_name_resolves() -> None:
    assert ragctx.__all__ == sorted(ragctx.__all__)
    assert all(getattr(ragctx, name) is not None for name in ragctx.__all__)
    assert set(ragctx.__all__) <= set(dir(ragctx))


def test_no_public_name_is_a_subpackage() -> None:
    import pkgutil

    assert set(ragctx.__all__).isdisjoint(module.name for module in pkgutil.iter_modules(ragctx.__path__))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = ragctx.nonsense


def test_importing_loads_nothing_heavy() -> None:
    script = (
        "import sys, ragctx\n"
        "heavy = {'jax', 'numpy', 'yaml', 'jinja2', 'tiktoken', 'click', 'pydantic', 'rich', 'bm25s'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
