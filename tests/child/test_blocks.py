from typing import Any

import pytest

from ragctx.children import run_script

PRELUDE = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
"""

DOUBLE = """
def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0

x = jnp.ones((16, 128))
block = pl.BlockSpec(({rows}, 128), lambda i: (i, 0))
f = pl.pallas_call(double, x, grid=({steps},), in_specs=[block], out_specs=block)
assert jnp.array_equal(f(x), {expected} * x)
"""


def blocks(*codes: str) -> list[dict[str, Any]]:
    return [{"id": f"block {n}", "code": code, "devices": 1} for n, code in enumerate(codes)]


def ask(codes: list[dict[str, Any]], *, run: bool, topology: str | None = None) -> Any:
    request = {"prelude": PRELUDE, "blocks": codes, "run": run, "topology": topology, "device_kind": "TPU v6 lite"}
    result = run_script("blocks.py", request)
    assert result.status == 0, result.stderr
    return result.answer


def test_asserts_are_evaluated_in_interpret_mode_and_a_failure_is_the_last_answer() -> None:
    right = DOUBLE.format(rows=8, steps=2, expected=2)
    wrong = DOUBLE.format(rows=8, steps=2, expected=3)
    assert ask(blocks(right, "assert True\nassert 1 == 1", wrong, right), run=True) == {
        "block 0": {"checks": 1, "run": None, "compile": None},
        "block 1": {"checks": 2, "run": None, "compile": None},
        "block 2": {"checks": 1, "run": "AssertionError: the block's assert does not hold", "compile": None},
    }


def test_a_block_out_of_range_is_an_error_and_names_do_not_leak_between_blocks() -> None:
    answer = ask(blocks("leak = 1", "assert leak == 1"), run=True)
    assert answer["block 0"]["checks"] == 0
    assert answer["block 1"]["run"] == "NameError: name 'leak' is not defined"
    answer = ask(blocks(DOUBLE.format(rows=8, steps=3, expected=2)), run=True)
    assert "IndexError: Out-of-bounds block index" in answer["block 0"]["run"]


@pytest.mark.tpu_compiler
def test_the_tpu_compiler_finds_what_running_on_a_cpu_does_not() -> None:
    tile, half_tile = (DOUBLE.format(rows=rows, steps=16 // rows, expected=2) for rows in (8, 4))
    answer = ask(blocks(half_tile, tile), run=True, topology="v6e:2x2")
    assert answer["block 0"]["run"] is None
    assert answer["block 0"]["compile"].startswith("ValueError: The Pallas TPU lowering currently requires")
    assert answer["block 1"] == {"checks": 1, "run": None, "compile": None}
