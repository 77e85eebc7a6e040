from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

import ragctx
from ragctx.context import ContextBuilder, ContextOptions, wrap
from ragctx.errors import RagctxError
from ragctx.workload import facts_for


@pytest.fixture
def workload(checkout: Path) -> Path:
    return checkout / "evaluation" / "workloads" / "8p_GEMM.py"


def echo(prompt: str, *extra: object, **options: object) -> tuple[str, tuple[object, ...], dict[str, object]]:
    """Answers with what it was asked."""
    return prompt, extra, options


def test_the_prefix_of_a_workload_goes_before_every_prompt(brine_builder: ContextBuilder, workload: Path) -> None:
    facts = facts_for(workload, trace=False)
    options = ContextOptions(budget_tokens=600)
    ask = wrap(echo, brine_builder, workload=facts, options=options)
    prefix = brine_builder.prefix(facts, options=options).text
    assert ask("Write it.", 1, temperature=0.5) == (f"{prefix}\nWrite it.", (1,), {"temperature": 0.5})
    assert ask("Again, read_level.")[0] == f"{prefix}\nAgain, read_level."


def test_a_workload_file_is_read_on_wrapping(brine_builder: ContextBuilder, workload: Path, tmp_path: Path) -> None:
    ask = wrap(echo, brine_builder, workload=str(workload))
    assert "## The workload: 8p_GEMM" in ask("Write it.")[0]
    with pytest.raises(RagctxError, match="no such workload file"):
        wrap(echo, brine_builder, workload=tmp_path / "missing.py")


def test_without_a_workload_each_prompt_is_its_own_query(brine_builder: ContextBuilder) -> None:
    ask = wrap(echo, brine_builder)
    for prompt in ("Use read_level on tank 7.", "Paint the fence of the works."):
        assert ask(prompt)[0] == f"{brine_builder.prefix(task=prompt).text}\n{prompt}"


@pytest.mark.parametrize("prompt", ["xyzzy", "!!!", "", " \n"])
def test_a_prompt_for_which_nothing_is_found_goes_through_unchanged(brine_builder: ContextBuilder, prompt: str) -> None:
    assert wrap(echo, brine_builder)(prompt)[0] == prompt


def test_a_prompt_on_nothing_known_gets_no_rules_either(shipped: ContextBuilder) -> None:
    assert wrap(echo, shipped)("zzqx")[0] == "zzqx"


def test_coroutine_functions(brine_builder: ContextBuilder) -> None:
    async def ask_model(prompt: str, *, seed: int = 0) -> tuple[str, int]:
        await asyncio.sleep(0)
        return prompt, seed

    ask = wrap(ask_model, brine_builder)
    assert inspect.iscoroutinefunction(ask)
    prompt = "Use read_level on tank 7."
    assert asyncio.run(ask(prompt, seed=3)) == (f"{brine_builder.prefix(task=prompt).text}\n{prompt}", 3)


def test_no_documentation_means_no_change(brine_builder: ContextBuilder, workload: Path) -> None:
    facts = facts_for(workload, trace=False)
    assert (
        wrap(echo, brine_builder, workload=facts, options=ContextOptions.for_docs("none"))("Write it.")[0]
        == "Write it."
    )


def test_the_wrapped_function_is_known_by_its_name(brine_builder: ContextBuilder) -> None:
    ask = wrap(echo, brine_builder)
    assert (ask.__name__, ask.__doc__) == ("echo", "Answers with what it was asked.")
    assert ragctx.wrap is wrap


def test_what_the_function_raises_passes_through(brine_builder: ContextBuilder) -> None:
    def fail(prompt: str) -> str:
        raise KeyError(prompt[-1])

    with pytest.raises(KeyError, match="'7'"):
        wrap(fail, brine_builder)("read_level of tank 7")
