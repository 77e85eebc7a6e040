from __future__ import annotations

import random
import textwrap
from pathlib import Path

import pytest
from installed_table import installed_table
from packaging.version import Version

from ragctx import data
from ragctx.failures import FailureKind
from ragctx.verify.api_check import check_file, check_source, defined_names, shipped_renames
from ragctx.verify.findings import Finding, Guard
from ragctx.verify.renames import Rename, Shape, is_api_name, is_since
from ragctx.verify.symbols import ALIASES, Class, Function

HEAD = """\
import functools
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
"""


def check(body: str, *, head: str = HEAD, **options: object) -> list[Finding]:
    return check_source(head + textwrap.dedent(body), table=installed_table(), filename="k.py", **options)  # type: ignore[arg-type]


def found(body: str, **options: object) -> list[tuple[int, str]]:
    """Line after the imports and symbol of every finding that is no note."""
    head = str(options.get("head", HEAD))
    return [(f.line - head.count("\n"), f.symbol) for f in check(body, **options) if not f.guarded]


def guards(body: str) -> list[Guard]:
    return [f.guard for f in check(body)]


# Names


def test_a_gone_name_is_found_with_place_replacement_and_version() -> None:
    (finding,) = check("params = pltpu.TPUCompilerParams(vmem_limit_bytes=1)\n")
    assert finding.kind is FailureKind.API_NAME
    assert (finding.line, finding.column, finding.end_line, finding.end_column) == (7, 10, 7, 33)
    assert finding.message == "pltpu.TPUCompilerParams is gone since jax 0.7.2"
    assert finding.suggestion == "use pltpu.CompilerParams"
    assert str(finding) == (
        "k.py:7:10: api_name: pltpu.TPUCompilerParams is gone since jax 0.7.2; use pltpu.CompilerParams"
    )
    assert not finding.guarded and not finding.conditional


@pytest.mark.parametrize(
    "text",
    [
        "import jax\nx = jax.experimental.pallas.load\n",
        "import jax.experimental.pallas as foo\nx = foo.load\n",
        "import jax.experimental.pallas\nx = jax.experimental.pallas.load\n",
        "from jax.experimental import pallas\nx = pallas.load\n",
        "from jax.experimental import pallas as q\nx = q.load\n",
        "from jax import experimental\nx = experimental.pallas.load\n",
        "from jax.experimental import pallas as pl; p2 = pl; p3 = p2\nx = p3.load\n",
        "from jax.experimental import pallas as pl; a, (b, c) = 1, (2, pl)\nx = c.load\n",
        "\nfrom jax.experimental.pallas import load\n",
        "\nfrom jax.experimental.pallas import load as anything\n",
        "\ndef f():\n  return 1\nf(__import__)\nimport jax.experimental.pallas as pl; (q := pl).load\n".replace(
            "\ndef f():\n  return 1\nf(__import__)\n", "\n"
        ),
        "from jax.experimental import *; from jax.experimental import pallas as pl\nx = pl.load\n",
        "import importlib; pl = importlib.import_module('jax.experimental.pallas')\nx = pl.load\n",
        "from jax.experimental import pallas as pl\nx = getattr(pl, 'load')\n",
    ],
)
def test_however_a_module_is_reached(text: str) -> None:
    findings = check(text, head="")
    assert [(f.line, f.kind, f.symbol) for f in findings] == [(2, FailureKind.API_NAME, "pl.load")]


def test_a_local_import_is_seen_in_its_function_only() -> None:
    body = """\
    def workload(x):
        from jax.experimental.pallas import tpu as p
        return p.ANY
    def other(p):
        return p.ANY
    """
    assert found(body) == [(3, "pltpu.ANY")]


def test_star_imports_bind_what_the_module_exports() -> None:
    head = "from jax.experimental.pallas.tpu import *\n"
    assert found("p = CompilerParams(vmem_limit=1)\nq = TPUCompilerParams()\n", head=head) == [
        (1, "pltpu.CompilerParams"),
        (2, "TPUCompilerParams"),
    ]
    # A star import of something unknown may bind anything.
    assert found("q = TPUCompilerParams()\n", head="from elsewhere import *\n") == []


@pytest.mark.parametrize(
    "body",
    [
        "def f(pl):\n    return pl.load\n",
        "def f(*pl, **pltpu):\n    return pl.load, pltpu.ANY\n",
        "for pl in (1, 2):\n    pl.load\n",
        "x = [pl.load for pl in (1, 2)]\n",
        "x = {pl: pltpu.ANY for pl, pltpu in ()}\n",
        "x = lambda pl: pl.load\n",
        "def f():\n    pl = object()\n    return pl.load\n",
        "def f():\n    pl.load\n    pl = object()\n",
        "with open('x') as pl:\n    pl.load\n",
        "try:\n    pass\nexcept ValueError as pl:\n    pl.load\n",
        "import json as pl\npl.load\n",
        "class pl:\n    load = 1\npl.load\n",
        "def pl():\n    pass\npl.load\n",
        "match jnp:\n    case {'a': pl}:\n        pl.load\n",
        "def f():\n    global pl\n    pl = object()\npl.load\n",
        "def f():\n    def g():\n        nonlocal q\n        q = object()\n    q = pl\n    return q.load\n",
        "(pl := object()).load\npl.load\n",
    ],
)
def test_a_shadowed_name_is_not_the_module(body: str) -> None:
    assert check(body, entry_points=()) == []


def test_scopes_end_where_they_end() -> None:
    assert found("x = [pl for pl in ()]\npl.load\n") == [(2, "pl.load")]
    assert found("class A:\n    pl = 1\n    def f(self):\n        return pl.load\n") == [(4, "pl.load")]
    assert found("class A:\n    pl = 1\n    x = pl.load\n") == []
    assert found("def f(pl):\n    pass\npl.load\n") == [(3, "pl.load")]


def test_a_use_is_wrong_only_if_it_is_wrong_for_all_it_may_be() -> None:
    body = """\
    if jax.default_backend() == "tpu":
        mod = pltpu
    else:
        mod = pl
    mod.pallas_call(mod.CompilerParams, out_shape=1)
    mod.nonsense
    """
    assert [line for line, _ in found(body)] == [6]


def test_classes_enums_and_instances() -> None:
    body = """\
    pltpu.MemorySpace.ANY
    pltpu.MemorySpace.VMEM
    pltpu.GridDimensionSemantics.PARALLEL.name
    pltpu.GridDimensionSemantics.PARALLEL.nam
    p = pltpu.CompilerParams(vmem_limit_bytes=1)
    p.vmem_limit_bytes
    p.vmem_limit
    p.replace(vmem_limit=2)
    p.replace(vmem_limit_bytes=2)
    s = pl.BlockSpec((8, 128), lambda i: (i, 0))
    s.block_shape, s.index_map
    s.shape
    jnp.float32.dtype
    jax.Array.at
    jax.ShapeDtypeStruct((1,), jnp.float32).shape
    jax.ShapeDtypeStruct((1,), jnp.float32).shpe
    """
    assert found(body) == [
        (1, "pltpu.MemorySpace.ANY"),
        (4, "pltpu.GridDimensionSemantics.PARALLEL.nam"),
        (7, "pltpu.CompilerParams.vmem_limit"),
        (12, "pl.BlockSpec.shape"),
        (16, "jax.ShapeDtypeStruct.shpe"),
    ]


def test_private_names_and_unlisted_modules_are_left_alone() -> None:
    head = (
        "import jax, jax._src.core\nfrom jax._src.pallas import nothing\nfrom jax.experimental.pallas.ops import tpu\n"
    )
    assert found("jax._src.whatever\njax.experimental.pallas.ops.tpu.flash_attention\ntpu.x\n", head=head) == []


def test_modules_that_are_not_there() -> None:
    head = ""
    body = "import jax.experimental.host_callback as hcb\nfrom jax.experimental.maps import xmap\nimport jax.nump\n"
    findings = check(body, head=head)
    assert [(f.line, f.symbol, f.kind) for f in findings] == [
        (1, "jax.experimental.host_callback", FailureKind.API_NAME),
        (2, "jax.experimental.maps", FailureKind.API_NAME),
        (3, "jax.nump", FailureKind.API_NAME),
    ]
    assert findings[0].suggestion == "use jax.pure_callback or jax.debug.callback or jax.debug.print"
    assert findings[2].suggestion == "use jax.numpy"


def test_what_the_file_sets_itself_is_there() -> None:
    assert found("pltpu.TPUCompilerParams = pltpu.CompilerParams\npltpu.TPUCompilerParams()\n") == []
    assert found("setattr(pltpu, 'ANY', pl.ANY)\npltpu.ANY\npltpu.repeat\n") == [(3, "pltpu.repeat")]
    assert found("for name in ('a',):\n    setattr(pltpu, name, 1)\npltpu.ANY\n") == []


def test_a_name_in_the_wrong_module_is_found_in_the_right_one() -> None:
    suggestions = [f.suggestion for f in check("pl.make_async_copy\njnp.fori_loop\nlax.tanhh\njnp.zzz\n")]
    assert suggestions == [
        "use pltpu.make_async_copy",
        "use jax.lax.fori_loop",
        "use jax.lax.tanh or jax.lax.atanh or jax.lax.tan",
        "",
    ]


def test_annotations_count_where_python_evaluates_them() -> None:
    body = "def f(x: pl.Nothing) -> pl.Nowhere:\n    y: pl.Never = 1\nz: pl.Not = 2\n"
    assert found(body) == [(1, "pl.Nothing"), (1, "pl.Nowhere"), (3, "pl.Not")]
    assert found(body, head="from __future__ import annotations\n" + HEAD) == []
    assert found("def f(x: 'pl.Nothing'):\n    pass\n") == []


# Calls


@pytest.mark.parametrize(
    ("call", "message", "suggestion"),
    [
        ("pl.BlockSpec((8,), indexing_mode=1)", "has no keyword 'indexing_mode' since jax 0.7.1", "pl.Element(n)"),
        ("pltpu.CompilerParams(vmem_limit=1)", "has no keyword 'vmem_limit'", "use vmem_limit_bytes="),
        ("pltpu.CompilerParams(dimension_semantic=())", "has no keyword 'dim", "use dimension_semantics="),
        ("pl.cdiv(1)", "pl.cdiv needs 'b'", "its parameters are: a, b"),
        ("pl.cdiv(1, 2, 3)", "pl.cdiv takes 2 positional arguments, not 3", "its parameters are: a, b"),
        ("pl.cdiv(1, 2, b=3)", "pl.cdiv is given 'b' twice, by position and by name", "a, b"),
        ("pl.when(condition=True)", "pl.when takes 'condition' by position only", "condition"),
        ("pltpu.PrefetchScalarGridSpec(grid=(1,))", "needs 'num_scalar_prefetch'", "num_scalar_prefetch, grid="),
        ("pl.kernel(print, jnp.zeros(1))", "pl.kernel needs 'mesh'", "body=, out_type=, *, mesh"),
        ("pltpu.VMEM((8, 128))", "pltpu.VMEM needs 'dtype'", "shape, dtype"),
        ("pltpu.SemaphoreType.DMA((1,), 2)", "takes 1 positional argument, not 2", "shape"),
        ("pltpu.InterpretParams(True)", "takes 0 positional arguments, not 1", "*, detect_races="),
        ("jnp.clip(x, a_min=0)", "jnp.clip has no keyword 'a_min' since jax 0.10.0", "use min="),
        ("jnp.float32(1, 2)", "jnp.float32 takes 1 positional argument, not 2", "x"),
        ("jax.jit(abs, static_argnum=1)", "jax.jit has no keyword 'static_argnum'", "use static_argnums="),
        ("functools.partial(pl.cdiv, c=1)", "pl.cdiv has no keyword 'c'", "it takes a, b"),
        ("functools.partial(pl.cdiv, 1, 2, 3)", "pl.cdiv takes 2 positional arguments, not 3", "a, b"),
        ("functools.partial(pl.cdiv, 1)(2, 3)", "pl.cdiv takes 2 positional arguments, not 3", "a, b"),
        ("functools.partial(pl.cdiv, 1)()", "pl.cdiv needs 'b'", "a, b"),
    ],
)
def test_calls_that_fit_no_signature(call: str, message: str, suggestion: str) -> None:
    (finding,) = check(f"x = 1\ny = {call}\n")
    assert finding.kind is FailureKind.API_KEYWORD
    assert finding.line == 8
    assert message in finding.message
    assert suggestion in finding.suggestion


@pytest.mark.parametrize(
    "call",
    [
        "pl.cdiv(*args)",
        "pl.cdiv(1, *args)",
        "pl.cdiv(**args)",
        "pl.cdiv(b=1, a=2)",
        "pl.run_scoped(f, pltpu.VMEM((8, 128), jnp.float32), collective_axes=(), anything=1)",
        "pltpu.VMEM((8, 128), jnp.float32)",
        "pltpu.SemaphoreType.DMA((2,))",
        "pltpu.MemorySpace('vmem')",
        "functools.partial(pl.BlockSpec, (8, 128))(lambda i: (i, 0))",
        "functools.partial(pl.cdiv, b=1)(1, b=2)",
        "functools.partial(functools.partial(pl.cdiv, 1), 2)()",
        "jnp.add(1, 2)",
        "jnp.zeros((1,), jnp.float32, device=None)",
        "jax.jit(f)(1, 2, 3, z=4)",
        "jnp.pad(x, 1, constant_values=0)",
        "jnp.einsum('a,a', x, x)",
        "pl.BlockSpec()",
        "pl.when(True)",
        "pltpu.CompilerParams()",
        "lax.fori_loop(0, 1, f, 0)",
        "jax.tree.map(f, x, x, is_leaf=None)",
    ],
)
def test_calls_that_fit(call: str) -> None:
    assert check(f"def f(x, args):\n    return {call}\n") == []


def test_the_line_of_a_keyword_is_its_own() -> None:
    body = """\
    y = pl.pallas_call(
        print,
        out_shape=1,
        num_warps=4,
    )
    """
    assert [(f.line, f.column, f.end_column) for f in check(body)] == [(10, 5, 16)]


def test_decorators_are_calls() -> None:
    good = "@functools.partial(pl.pallas_call, out_shape=1)\ndef k(x_ref):\n    pass\n@jax.jit\ndef f():\n    pass\n"
    assert check(good) == []
    assert found("@functools.partial(pl.pallas_call, grid=(1,))\ndef k(x_ref):\n    pass\n") == [(1, "pl.pallas_call")]
    assert found("@pl.cdiv\ndef k(x_ref):\n    pass\n") == [(1, "pl.cdiv")]


def test_a_base_class_cannot_be_called() -> None:
    (finding,) = check("pl.CompilerParams(vmem_limit_bytes=1)\n")
    assert (finding.kind, finding.symbol) == (FailureKind.API_NAME, "pl.CompilerParams")
    assert finding.suggestion == "use pltpu.CompilerParams"


def test_values_of_a_kind_that_is_refused() -> None:
    body = """\
    pl.BlockSpec(lambda i: (i, 0), (8, 128))
    pl.BlockSpec((8, 128), lambda i: (i, 0))
    pl.BlockSpec(index_map=lambda i: (i, 0), block_shape=(8, 128))
    pl.pallas_call(print, 1, compiler_params=dict(mosaic=1))
    pl.pallas_call(print, 1, compiler_params={})
    pltpu.roll(1, -1, 0)
    pltpu.roll(1, 1, 0)
    with pl.when(True):
        pass
    with pltpu.force_tpu_interpret_mode():
        pass
    """
    findings = check(body)
    assert {f.kind for f in findings} == {FailureKind.API_KEYWORD}
    assert [f.line - 6 for f in findings] == [1, 4, 5, 6, 8]
    assert findings[1].suggestion == "use compiler_params=pltpu.CompilerParams(...)"


# Guards


@pytest.mark.parametrize(
    "body",
    [
        "try:\n    A = pltpu.ANY\nexcept AttributeError:\n    A = pl.ANY\n",
        "try:\n    A = pl.ANY\nexcept AttributeError:\n    A = pltpu.ANY\n",
        "try:\n    A = pltpu.ANY\nexcept Exception:\n    A = pl.ANY\n",
        "try:\n    A = pltpu.ANY\nexcept (ValueError, AttributeError):\n    A = pl.ANY\n",
        "try:\n    A = pltpu.ANY\nexcept:\n    A = pl.ANY\n",
        "try:\n    from jax.experimental.pallas import load\nexcept ImportError:\n    load = None\n",
        "try:\n    import jax.experimental.maps\nexcept ModuleNotFoundError:\n    pass\n",
        "try:\n    p = pltpu.CompilerParams(kernel_type=1)\nexcept TypeError:\n    p = None\n",
        "import contextlib\nwith contextlib.suppress(AttributeError):\n    pltpu.ANY\n",
    ],
)
def test_a_caught_error_is_a_note(body: str) -> None:
    assert guards(body) == [Guard.CAUGHT]


@pytest.mark.parametrize(
    "body",
    [
        "try:\n    A = pltpu.ANY\nexcept ValueError:\n    A = pl.ANY\n",
        "try:\n    A = pl.ANY\nexcept AttributeError:\n    A = 1\nelse:\n    B = pltpu.ANY\n",
        "try:\n    pass\nexcept AttributeError:\n    pass\nfinally:\n    A = pltpu.ANY\n",
        "try:\n    p = pltpu.CompilerParams(kernel_type=1)\nexcept AttributeError:\n    p = None\n",
        "try:\n    def workload():\n        return pltpu.ANY\nexcept AttributeError:\n    pass\n",
    ],
)
def test_an_error_that_is_not_caught_counts(body: str) -> None:
    assert guards(body) == [Guard.NONE]


@pytest.mark.parametrize(
    "body",
    [
        "if hasattr(pltpu, 'ANY'):\n    pltpu.ANY\n",
        "if not hasattr(pltpu, 'CompilerParams'):\n    pltpu.TPUCompilerParams\n",
        "if hasattr(pl, 'ANY'):\n    pass\nelse:\n    pltpu.ANY\n",
        "A = pl.ANY if hasattr(pl, 'ANY') else pltpu.ANY\n",
        "A = getattr(pl, 'ANY', None) or pltpu.ANY\n",
        "A = hasattr(pltpu, 'ANY') and pltpu.ANY\n",
        "if jax.__version__ < '0.7':\n    pltpu.ANY\n",
        "if jax.__version_info__ < (0, 7):\n    pltpu.ANY\n",
        "HAS = hasattr(pltpu, 'ANY')\nif HAS:\n    pltpu.ANY\n",
        "try:\n    import other\n    HAS = True\nexcept ImportError:\n    HAS = False\nif HAS:\n    pltpu.ANY\n",
        "JAX_VERSION = 1\nif JAX_VERSION < 2:\n    pltpu.ANY\n",
        "def old():\n    return not hasattr(pl, 'ANY')\nif old():\n    pltpu.ANY\n",
        "def workload():\n    if hasattr(pl, 'ANY'):\n        return pl.ANY\n    return pltpu.ANY\n",
        "assert hasattr(pltpu, 'ANY')\npltpu.ANY\n",
        "if 'ANY' in dir(pltpu):\n    pltpu.ANY\n",
        "if hasattr(pltpu, 'ANY'):\n    def workload():\n        return pltpu.ANY\n",
    ],
)
def test_a_line_behind_a_test_of_what_is_installed_is_a_note(body: str) -> None:
    assert guards(body) == [Guard.TESTED]


def test_getattr_with_a_default_is_no_finding() -> None:
    assert check("A = getattr(pltpu, 'ANY', pl.ANY)\nB = getattr(pltpu, 'TPUCompilerParams', None)\n") == []
    body = (
        "CP = getattr(pltpu, 'CompilerParams', None) or getattr(pltpu, 'TPUCompilerParams', None)\nCP(vmem_limit=1)\n"
    )
    assert check(body) == []


@pytest.mark.parametrize("test", ["False", "0", "not True", "TYPE_CHECKING"])
def test_dead_code_is_a_note(test: str) -> None:
    body = f"TYPE_CHECKING = False\nif {test}:\n    pltpu.ANY\n"
    assert guards(body) == [Guard.UNREACHED]


def test_code_that_nothing_calls_is_a_note() -> None:
    body = """\
    def helper(x):
        return pltpu.ANY
    def unused(x):
        return pltpu.repeat
    def kernel(x_ref, o_ref):
        @pl.when(True)
        def _():
            pl.store(o_ref, 0, pl.load(x_ref, 0))
        def later():
            pl.swap
    def workload(x):
        return pl.pallas_call(kernel, out_shape=x)(helper(x))
    """
    findings = {(f.line - 6, f.symbol): f.guard for f in check(body)}
    assert findings == {
        (2, "pltpu.ANY"): Guard.NONE,
        (4, "pltpu.repeat"): Guard.UNREACHED,
        (8, "pl.store"): Guard.NONE,
        (8, "pl.load"): Guard.NONE,
        (10, "pl.swap"): Guard.UNREACHED,
    }


@pytest.mark.parametrize(
    "body",
    [
        "def k():\n    pl.load\nworkload = jax.jit(k)\n",
        "def k():\n    pl.load\ndef workload():\n    return functools.partial(k, 1)\n",
        "def k():\n    pl.load\ndef workload():\n    return lax.cond(True, k, lambda: 0)\n",
        "class Model:\n    def forward(self):\n        return self.step()\n    def step(self):\n        pl.load\n",
        "class K:\n    def __call__(self):\n        pl.load\ndef workload():\n    return K()()\n",
        "def a():\n    return b()\ndef b():\n    return c()\ndef c():\n    pl.load\ndef workload():\n    return a()\n",
        "def workload(x=pl.load):\n    pass\n",
        "KERNELS = {}\ndef k():\n    pl.load\nKERNELS['k'] = k\ndef workload():\n    pass\n",
        "def k():\n    pl.load\n",
    ],
)
def test_code_that_is_reached_counts(body: str) -> None:
    assert [f.symbol for f in check(body) if not f.guarded] == ["pl.load"]


def test_a_call_that_is_caught_guards_what_it_calls() -> None:
    body = """\
    def fast(x):
        return pltpu.ANY
    def workload(x):
        try:
            return fast(x)
        except Exception:
            return x
    """
    assert guards(body) == [Guard.UNREACHED]
    assert guards(body.replace("Exception", "AttributeError")) == [Guard.UNREACHED]
    assert guards(body.replace("Exception", "TypeError")) == [Guard.NONE]


def test_ordinary_conditions_are_told_apart() -> None:
    body = """\
    def f(causal):
        pl.load
    def workload(x, causal=False):
        if causal:
            pl.store
            f(causal)
        if x is None:
            raise ValueError
        pl.swap
        if x.ndim == 2:
            return x
        pl.atomic_add
    """
    assert {f.symbol: (f.guarded, f.conditional) for f in check(body)} == {
        "pl.load": (False, True),
        "pl.store": (False, True),
        "pl.swap": (False, False),
        "pl.atomic_add": (False, True),
    }


def test_derivatives_that_may_not_be_asked_for_are_conditional() -> None:
    body = """\
    @jax.custom_vjp
    def f(x):
        return x
    def fwd(x):
        return x, ()
    def bwd(res, g):
        return (pltpu.ANY,)
    f.defvjp(fwd, bwd)
    def workload(x):
        return f(x)
    """
    assert [(f.guarded, f.conditional) for f in check(body)] == [(False, True)]


def test_the_main_block_is_conditional() -> None:
    assert [f.conditional for f in check("if __name__ == '__main__':\n    pltpu.ANY\n")] == [True]


# Syntax and undefined names


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("def f(:\n    pass\n", 1, 7),
        ("x = 1\nreturn x\n", 2, 1),
        ("x = (\n", 1, 5),
        ("  x = 1\n", 1, 2),
        ("x = 1\0\n", 1, 1),
        ("é = 'ü' +\n", 1, 10),
    ],
)
def test_a_syntax_error_is_the_only_finding(text: str, line: int, column: int) -> None:
    (finding,) = check_source(text + "import nothing\npl.load\n", table=installed_table(), filename="k.py")
    assert (finding.kind, finding.line, finding.column) == (FailureKind.SYNTAX, line, column)
    assert finding.message and "\n" not in finding.message


def test_columns_count_characters() -> None:
    (finding,) = check("s = 'éüß'; pltpu.ANY\n")
    assert (finding.column, finding.end_column) == (12, 21)


def test_deep_nesting_is_no_crash() -> None:
    chain = "x = " + " + ".join(["1"] * 900) + "\n"
    assert check(chain) in ([], check("x = 1\n"))


def test_undefined_names() -> None:
    body = """\
    def workload(x):
        y = jmp.sin(x) + undefined_thing
        del y
        return wrkload
    class A:
        inside = 1
        def f(self):
            return inside
    """
    findings = check(body, entry_points=())
    assert [(f.line - 6, f.symbol, f.suggestion) for f in findings] == [
        (2, "jmp", ""),
        (2, "undefined_thing", ""),
        (4, "wrkload", "did you mean workload"),
        (8, "inside", ""),
    ]
    assert {f.kind for f in findings} == {FailureKind.UNDEFINED_NAME}
    assert check("pltpu.x\n", head="")[0].suggestion == "add: from jax.experimental.pallas import tpu as pltpu"


@pytest.mark.parametrize(
    "body",
    [
        "print(__name__, __file__, __doc__, range, ValueError)\n",
        "def f():\n    return later\nlater = 1\n",
        "def f():\n    global made\n    made = 1\nmade\n",
        "class A:\n    def f(self):\n        return __class__\n",
        "import os.path\nos.path\n",
        "exec('x = 1')\nx\n",
        "globals()['x'] = 1\nx\n",
        "try:\n    unicode\nexcept NameError:\n    unicode = str\n",
        "x = [a + b for a in () for b in (a,) if b]\n",
        "f = lambda a, *b, c=1, **d: (a, b, c, d)\n",
        "def f(a, /, b, *, c):\n    return a, b, c\n",
        "if (n := 1) > 0:\n    n\nx = [m := i for i in ()]\nm\n",
        "for i, (j, *k) in ():\n    i, j, k\n",
        "async def f():\n    async with a as b:\n        return b\n    async for c in b:\n        c\na = 1\n",
        "match 1:\n    case [a, *b]:\n        a, b\n    case {'k': c, **d}:\n        c, d\n",
        "match 1:\n    case int(real=e) as g:\n        e, g\n",
    ],
)
def test_names_that_are_defined(body: str) -> None:
    assert [f for f in check(body, entry_points=()) if not f.guarded] == []


# The renames, the examples, the files of JAX itself


def styles(name: str) -> list[str]:
    """Ways to reach a dotted name; "@" stands where the use belongs."""
    alias, *rest = name.split(".")
    module = ALIASES.get(alias, alias)
    tail = ".".join(rest)
    root = module.partition(".")[0]
    found = [f"import {module} as m\n@ = m.{tail}\n", f"import {root}\n@ = {module}.{tail}\n"]
    found.append(f"def inside():\n    import {module} as m\n    n = m\n    @ = n.{tail}\n")
    if "." in module:
        above, _, last = module.rpartition(".")
        found.append(f"from {above} import {last} as m\n@ = m.{tail}\n")
    if len(rest) == 1:
        found.append(f"from {module} import {tail} as @\n")
    return found


def names_gone() -> list[Rename]:
    return [r for r in shipped_renames().names.values() if r.since is None or is_since(installed_table(), r.since)]


def test_every_renamed_name_is_found_where_it_is_with_its_replacement() -> None:
    generator = random.Random(20260607)
    table = installed_table()
    wrong = []
    for rename in names_gone():
        usable = [new for new in rename.new if not is_api_name(new) or table.has(new)]
        for style in styles(rename.old):
            before = "# a line\n" * generator.randrange(0, 9)
            after = "x = 1\n" * generator.randrange(0, 3)
            text = before + style.replace("@", "used") + after
            line = text[: text.index("used")].count("\n") + 1
            findings = check_source(text, table=table)
            right = (
                [(f.kind, f.line) for f in findings] == [(FailureKind.API_NAME, line)]
                and findings[0].symbol == rename.old
                and (not usable or findings[0].suggestion.startswith(f"use {usable[0]}"))
                and rename.note in findings[0].suggestion
                and bool(findings[0].suggestion)
            )
            if not right:
                wrong.append((text, [str(f) for f in findings]))
    assert wrong == []
    assert len(names_gone()) > 150


def test_every_renamed_keyword_is_found_where_it_is_with_its_replacement() -> None:
    generator = random.Random(20260608)
    table = installed_table()
    checked = 0
    for rename in shipped_renames().keywords.values():
        symbol = table.lookup(rename.callable)
        if not isinstance(symbol, Function | Class) or not (rename.since is None or is_since(table, rename.since)):
            continue
        before = "# a line\n" * generator.randrange(0, 9)
        module = ALIASES.get(rename.callable.split(".")[0])
        imports = (
            f"import {module} as {rename.callable.split('.')[0]}\n" if module else "import jax.experimental.shard_map\n"
        )
        text = f"{before}{imports}f = {rename.callable}(\n  *(),\n  {rename.old}=1,\n)\n"
        findings = check_source(text, table=table)
        assert [(f.kind, f.line, f.symbol) for f in findings] == [
            (FailureKind.API_KEYWORD, text.count("\n") - 1, rename.callable)
        ], text
        usable = [new for new in rename.new if not new.isidentifier() or f"use {new}=" in findings[0].suggestion]
        assert usable or rename.note
        assert rename.note in findings[0].suggestion
        checked += 1
    assert checked > 40


def test_names_that_still_work_are_no_findings() -> None:
    table = installed_table()
    working = [r for r in shipped_renames().names.values() if r.since and not is_since(table, r.since)]
    for rename in working:
        assert table.lookup(rename.old) is not False, rename.old
        assert check_source(f"import jax\n{expand(rename.old)}\n", table=table) == []


def expand(name: str) -> str:
    first, _, rest = name.partition(".")
    return f"{ALIASES.get(first, first)}.{rest}"


def test_the_table_of_renames_is_true_of_the_installed_jax() -> None:
    """Every replacement exists, where it is a name of the API; every version is one."""
    table = installed_table()
    renames = shipped_renames()
    for rename in renames.names.values():
        if rename.since is not None:
            Version(rename.since)
        assert rename.new or rename.note, rename.old
        if rename in names_gone():
            assert any(not is_api_name(new) or table.lookup(new) is not False for new in rename.new) or rename.note
    assert {misuse.given for misuse in renames.misuses} == set(Shape)


@pytest.mark.parametrize("folder", ["corpus/examples", "evaluation/workloads"])
def test_our_own_kernels_have_no_findings(folder: str) -> None:
    files = sorted((data.root() / folder).glob("*.py"))
    assert len(files) >= 6
    table = installed_table()
    assert [f for file in files for f in check_source(file.read_text(), table=table, entry_points=())] == []


def test_the_kernels_that_jax_ships_have_no_findings() -> None:
    import importlib.util

    spec = importlib.util.find_spec("jax")
    assert spec is not None and spec.origin is not None
    files = sorted(Path(spec.origin).parent.joinpath("experimental", "pallas").rglob("*.py"))
    assert len(files) > 20
    table = installed_table()
    found_there = [
        f for file in files for f in check_source(file.read_text(), table=table, filename=str(file), entry_points=())
    ]
    assert [str(f) for f in found_there] == []


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("renamed-tpu-names", FailureKind.API_NAME),
        ("names-not-in-pallas", FailureKind.API_NAME),
        ("gone-load-store", FailureKind.API_NAME),
        ("memory-space-names", FailureKind.API_NAME),
        ("block-spec-indexing-mode", FailureKind.API_KEYWORD),
        ("compiler-params-keywords", FailureKind.API_KEYWORD),
        ("compiler-params-dict", FailureKind.API_KEYWORD),
        ("block-spec-order", FailureKind.API_KEYWORD),
    ],
)
def test_the_rules_that_show_a_wrong_name(rule: str, kind: FailureKind) -> None:
    text = (data.corpus() / "rules" / f"{rule}.raises.py").read_text()
    findings = [f for f in check_source(text, table=installed_table()) if not f.guarded]
    assert {f.kind for f in findings} == {kind}


def test_check_file_uses_the_cache(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text(HEAD + "pltpu.ANY\n")
    findings = check_file(file, cache=tmp_path / "cache")
    assert [f.symbol for f in findings] == ["pltpu.ANY"]
    (cached,) = (tmp_path / "cache" / "symbols").iterdir()
    before = cached.stat().st_mtime_ns
    assert check_file(file, cache=tmp_path / "cache") == findings
    assert cached.stat().st_mtime_ns == before


def test_defined_names() -> None:
    assert defined_names("def a():\n    def b(): pass\nclass C: pass\nd = 1\n") == {"a", "b", "C"}
    assert defined_names("def (") == frozenset()
