from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from installed_table import installed_table

from ragctx.errors import RagctxError
from ragctx.verify.symbols import Class, Function, Instance, Module, Parameters, load_table, parameters


def fake_jax(folder: Path, version: str, source: str = "") -> str:
    """Return the path of an interpreter whose `jax` is a few lines of our own."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    site = next((folder / "lib").glob("python*")) / "site-packages"
    install(site, version, source)
    return str(python)


def install(site: Path, version: str, source: str) -> None:
    for name in ("jax", "jaxlib"):
        (site / name).mkdir(exist_ok=True)
        (site / name / "__init__.py").write_text(source if name == "jax" else "")
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "RECORD").write_text(f"{name}-{version}.dist-info/METADATA,,\n")


def test_signatures_taken_apart() -> None:
    assert parameters("a,/,b,c=,*,d,e=,**kw") == Parameters(
        ("a", "b", "c"), ("b", "c", "d", "e"), frozenset({"a", "b", "d"}), False, True
    )
    assert parameters("a,*args,b=") == Parameters(("a",), ("a", "b"), frozenset({"a"}), True, False)
    assert parameters("") == Parameters((), (), frozenset(), False, False)
    assert parameters("self,a").without_first() == Parameters(("a",), ("a",), frozenset({"a"}), False, False)


def test_what_the_installed_table_knows() -> None:
    table = installed_table()
    pallas = Module("jax.experimental.pallas")
    assert isinstance(table.attribute(pallas, "pallas_call"), Function)
    assert isinstance(table.attribute(pallas, "BlockSpec"), Class)
    assert table.attribute(pallas, "tpu") == Module("jax.experimental.pallas.tpu")
    assert table.attribute(pallas, "load") is False
    assert table.attribute(pallas, "_anything") is True
    assert isinstance(table.lookup("pltpu.VMEM"), Instance)
    assert table.lookup("jnp.float32.nothing") is False
    assert table.has("pl.ANY") and not table.has("pltpu.ANY")
    call = table.call_parameters(table.lookup("pl.pallas_call"))  # type: ignore[arg-type]
    assert call is not None and call.positional == ("kernel", "out_shape")
    assert "compiler_params" in call.keywords and not call.any_keyword
    params = table.call_parameters(table.lookup("pltpu.CompilerParams"))  # type: ignore[arg-type]
    assert params is not None and "vmem_limit_bytes" in params.keywords and not params.any_keyword
    assert table.jax == table.versions["jax"]


def test_names_that_warn_are_listed_apart(tmp_path: Path) -> None:
    source = """
import warnings
from enum import Enum
def _old(): pass
_deprecations = {"old": ("jax.old is deprecated", _old), "older": ("jax.older was removed", None)}
def __getattr__(name):
    if name in _deprecations:
        message, value = _deprecations[name]
        if value is None:
            raise AttributeError(message)
        warnings.warn(message, DeprecationWarning)
        return value
    raise AttributeError(name)
class Space(Enum):
    A = 1
    def __call__(self, shape, dtype=None): pass
class Thing:
    def __init__(self, size, *, depth=1): self.size = size
    def method(self, a, /): self.late = a
    @classmethod
    def make(cls, b): pass
class Open:
    def __getattr__(self, name): pass
"""
    python = fake_jax(tmp_path / "env", "9.9", source)
    table = load_table(python, folder=tmp_path / "cache")
    jax = Module("jax")
    assert isinstance(table.attribute(jax, "old"), Function) and not table.has("jax.old")
    assert table.attribute(jax, "older") is False
    assert table.gone_message(jax, "older") == "jax.older was removed"
    assert table.attribute(jax, "oldest") is False
    thing = table.lookup("jax.Thing")
    assert isinstance(thing, Class)
    assert table.call_parameters(thing) == parameters("size,*,depth=")
    instance = Instance(thing.name, thing.key)
    assert table.attribute(instance, "size") is True and table.attribute(instance, "late") is True
    assert table.attribute(instance, "nothing") is False and table.attribute(thing, "size") is False
    method = table.attribute(instance, "method")
    assert isinstance(method, Function) and table.call_parameters(method) == parameters("a,/")
    unbound = table.attribute(thing, "method")
    assert isinstance(unbound, Function) and table.call_parameters(unbound) == parameters("self,a,/")
    made = table.attribute(instance, "make")
    assert isinstance(made, Function) and table.call_parameters(made) == parameters("b")
    member = table.lookup("jax.Space.A")
    assert isinstance(member, Instance) and table.call_parameters(member) == parameters("shape,dtype=")
    assert table.attribute(member, "name") is True and table.attribute(member, "nothing") is False
    opened = table.lookup("jax.Open")
    assert isinstance(opened, Class) and table.attribute(Instance("jax.Open", opened.key), "anything") is True


def test_the_cache_follows_the_installed_version(tmp_path: Path) -> None:
    python = fake_jax(tmp_path / "env", "1.0", "def f(a): pass\n")
    cache = tmp_path / "cache"
    assert load_table(python, folder=cache).jax == "1.0"
    (file,) = (cache / "symbols").iterdir()
    first = file.read_bytes()
    assert load_table(python, folder=cache).jax == "1.0"
    assert file.read_bytes() == first
    site = next((tmp_path / "env" / "lib").glob("python*")) / "site-packages"
    for name in ("jax", "jaxlib"):
        for old in (site / f"{name}-1.0.dist-info").iterdir():
            old.unlink()
        (site / f"{name}-1.0.dist-info").rmdir()
    install(site, "2.0", "def another(a): pass\n")
    table = load_table(python, folder=cache)
    assert table.jax == "2.0" and table.attribute(Module("jax"), "f") is False
    assert [p.name for p in (cache / "symbols").iterdir()] == [file.name]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"format": 1}', "null", '{"format": 0, "witness": []}'])
def test_a_damaged_cache_is_built_again(tmp_path: Path, damage: str) -> None:
    python = fake_jax(tmp_path / "env", "1.0", "def f(a): pass\n")
    load_table(python, folder=tmp_path)
    (file,) = (tmp_path / "symbols").iterdir()
    whole = file.read_bytes()
    file.write_text(damage)
    assert load_table(python, folder=tmp_path).jax == "1.0"
    assert json.loads(file.read_bytes()) == json.loads(whole)


def test_interpreters_have_tables_of_their_own(tmp_path: Path) -> None:
    one = fake_jax(tmp_path / "one", "1.0", "a = 1\n")
    two = fake_jax(tmp_path / "two", "2.0", "b = 1\n")
    assert [load_table(python, folder=tmp_path).jax for python in (one, two, one)] == ["1.0", "2.0", "1.0"]


def test_an_interpreter_without_jax_is_an_error(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    python = str(tmp_path / "env" / "bin" / "python")
    with pytest.raises(RagctxError) as caught:
        load_table(python, folder=tmp_path)
    assert str(caught.value) == (
        f"{python}: cannot list its JAX: ModuleNotFoundError: No module named 'jax'; "
        "name a Python 3 executable that has JAX installed"
    )
    with pytest.raises(RagctxError, match="cannot start the interpreter"):
        load_table(str(tmp_path / "nowhere"), folder=tmp_path)


def test_checking_imports_no_jax(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom ragctx.verify.api_check import check_source\n"
        "from ragctx.verify.symbols import load_table\n"
        f"table = load_table(folder=Path({str(tmp_path)!r}))\n"
        "assert check_source('from jax.experimental import pallas as pl\\npl.load\\n', table=table)\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('jax', 'jaxlib', 'numpy')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
