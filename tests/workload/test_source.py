from pathlib import Path

import pytest

from ragctx.errors import RagctxError
from ragctx.workload import read_workload

GOOD = '''"""Scaled matmul.

Second paragraph.
"""
import jax
import jax.numpy as np2
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BLOCK = 2 * 64
CONFIG = {"operator": "causal_mha", "M": 4 * BLOCK, "scale": -1.5, "shape": (BLOCK, 2**3), "made": len("abc")}
CHECK = dict(M=BLOCK // 2)  # smaller


def create_inputs(dtype=np2.bfloat16, seed=0):
    return (jax.random.normal(jax.random.key(seed), (CONFIG["M"],)),)


def workload(a, b):
    # fused_softmax tail
    out = np2.einsum("ij,jk->ik", a, b) @ b
    out = out.at[0].set(lax.exp(out[0]))
    return jax.nn.softmax(out, axis=-1)


def get_flops():
    return np2.cumsum(1)
'''


def write(tmp_path: Path, text: str, name: str = "w.py") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(path: Path) -> str:
    with pytest.raises(RagctxError) as caught:
        read_workload(path)
    return str(caught.value).replace(str(path), "W")


def test_declarations(tmp_path: Path) -> None:
    source = read_workload(write(tmp_path, GOOD, "9q_Thing.py"))
    assert source.name == "9q_Thing"
    assert source.docstring == "Scaled matmul.\n\nSecond paragraph."
    assert source.config == {"operator": "causal_mha", "M": 512, "scale": -1.5, "shape": (128, 8)}
    assert source.check == {"M": 64}
    assert source.functions == ("create_inputs", "workload", "get_flops")
    assert source.parameters == ("a", "b")
    assert source.comments == ("smaller", "fused_softmax tail")


def test_names_by_usual_alias_in_order_of_use(tmp_path: Path) -> None:
    source = read_workload(write(tmp_path, GOOD))
    assert source.identifiers == (
        *("BLOCK", "M", "a", "b", "out", "jnp.einsum", "at", "lax.exp", "jax.nn.softmax", "axis"),
    )
    assert source.calls == {"jax.nn.softmax": 1, "jnp.einsum": 1, "lax.exp": 1}


def test_primitives_of_the_workload_only(tmp_path: Path) -> None:
    source = read_workload(write(tmp_path, GOOD))
    assert source.primitives == {"dot_general": 2, "exp": 2, "reduce_max": 1, "reduce_sum": 1, "scatter": 1}


def test_a_checkout_s_baseline_is_named_by_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "11p_Megablox_GMM"
    folder.mkdir()
    assert read_workload(write(folder, GOOD, "baseline.py")).name == "11p_Megablox_GMM"


@pytest.mark.parametrize(
    "text",
    [
        "import jax\nworkload = jax.jit(lambda x: x)\n",
        "from kernels import workload\n",
        "from kernels import *\n",
        "try:\n    from fast import workload\nexcept ImportError:\n    def workload(x): return x\n",
        "if True:\n    workload = print\n",
    ],
)
def test_workload_may_be_bound_in_any_way(tmp_path: Path, text: str) -> None:
    assert read_workload(write(tmp_path, text)).config == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def workload(x:\n    pass\n",
            "W:1: syntax error: '(' was never closed; fix the file",
        ),
        ("x = 1\n\n\nx = = 2\n", "W:4: syntax error: invalid syntax; fix the file"),
        (
            "def kernel(x): return x\n",
            "W: has no function `workload`; define `CONFIG`, `create_inputs(dtype=...)` and `workload(*inputs)` in it",
        ),
        (
            "def kernel(x):\n    def workload(y): return y\n",
            "W: has no function `workload`; define `CONFIG`, `create_inputs(dtype=...)` and `workload(*inputs)` in it",
        ),
        (
            "class Model:\n    def forward(self, x): return x\n",
            "W: has no function `workload` (a class `Model` alone is not a workload); "
            "define `CONFIG`, `create_inputs(dtype=...)` and `workload(*inputs)` in it",
        ),
        (
            "\nCONFIG = [1, 2]\ndef workload(x): return x\n",
            'W:2: `CONFIG` is not a dict; write CONFIG = {"size name": value, ...}',
        ),
        (
            "CONFIG = {1: 2}\ndef workload(x): return x\n",
            'W:1: `CONFIG` has keys that are not strings; write CONFIG = {"size name": value, ...}',
        ),
        (
            "CONFIG = {'M': 8}\nCHECK = {'N': 8, 'K': 2}\ndef workload(x): return x\n",
            "W: CHECK has keys that CONFIG lacks: K, N; CHECK overrides sizes of CONFIG",
        ),
    ],
)
def test_what_is_not_a_workload(tmp_path: Path, text: str, message: str) -> None:
    assert refused(write(tmp_path, text)) == message


def test_unreadable_files(tmp_path: Path) -> None:
    assert refused(tmp_path / "no.py") == f"{tmp_path / 'no.py'}: no such workload file; check the path".replace(
        str(tmp_path / "no.py"), "W"
    )
    assert refused(tmp_path) == "W: is a folder, not a workload file; name a file in it"
    latin = tmp_path / "latin.py"
    latin.write_bytes(b"# ok\n# caf\xe9\ndef workload(x): return x\n")
    assert refused(latin) == "W:2: the workload file is not UTF-8 (byte 0xe9); save it as UTF-8"


def test_null_bytes_and_bottomless_nesting(tmp_path: Path) -> None:
    assert refused(write(tmp_path, "def workload(x): return x\n\0")).startswith("W")
    assert refused(write(tmp_path, "x = " + "-" * 200_000 + "1\n")).startswith("W")


def test_reading_runs_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    text = f"import pathlib\npathlib.Path({str(marker)!r}).touch()\nraise SystemExit(3)\ndef workload(x): return x\n"
    assert read_workload(write(tmp_path, text)).functions == ("workload",)
    assert not marker.exists()


def test_a_file_larger_than_any_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.py"
    path.write_text("def workload(x):\n    return x\n" + "# " + "x" * 2_000_000 + "\n")
    with pytest.raises(
        RagctxError, match="big.py: a workload of 2,000,0.. characters is more than 2,000,000; make data"
    ):
        read_workload(path)
