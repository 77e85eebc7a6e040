import pytest

from ragctx.errors import RagctxError
from ragctx.workload import facts_from_task


def test_names_in_plain_words() -> None:
    facts = facts_from_task(
        "Open a `ledger` with acme.Client(retries=3), then call post_batch, e.g. via jax.numpy.einsum."
    )
    assert facts.identifiers == ("ledger", "acme.Client", "post_batch", "jnp.einsum")
    assert facts.primitives == {"dot_general": 1}
    assert (facts.name, facts.traced, facts.source) == ("task", False, "")
    assert facts.note == ""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Use BlockSpec and makeGrid()", ("BlockSpec", "makeGrid")),
        ("Just write a fast kernel.", ()),
        ("The TPU and the HBM", ()),
        ("한국어로 `pl.load` 를 쓰세요", ("pl.load",)),
        ("import jax.experimental.pallas.tpu.VMEM", ("pltpu.VMEM",)),
    ],
)
def test_what_looks_like_a_name(text: str, names: tuple[str, ...]) -> None:
    assert facts_from_task(text).identifiers == names


def test_fenced_code_is_read_with_its_aliases() -> None:
    facts = facts_from_task("Speed this up:\n```python\nimport jax.numpy as N\ny = N.exp(x) @ w\n```\nplease")
    assert facts.identifiers == ("y", "jnp.exp", "x", "w")
    assert facts.primitives == {"dot_general": 1, "exp": 1}


def test_fenced_code_that_is_not_python_is_read_as_names() -> None:
    facts = facts_from_task("```\nerror: pl.BlockSpec(block_shape) ???\n```\n")
    assert facts.identifiers == ("pl.BlockSpec", "block_shape")


def test_empty_task_and_unknown_target() -> None:
    with pytest.raises(RagctxError, match="the task is empty"):
        facts_from_task(" \n")
    with pytest.raises(RagctxError, match="unknown target 'v9'"):
        facts_from_task("attention", target="v9")
