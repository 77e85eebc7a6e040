from __future__ import annotations

import dataclasses

import pytest

from ragctx.context import Context, ContextOptions, Section, parse_sections
from ragctx.context.options import DEFAULT_BUDGET_TOKENS, DEFAULT_SUPPLEMENT_TOKENS, SECTION_OF_KIND, SHARES
from ragctx.corpus import Kind
from ragctx.errors import RagctxError

EVERY = (Section.HARDWARE, Section.RULES, Section.API, Section.EXAMPLES, Section.FACTS)


def test_the_defaults_are_those_of_the_design() -> None:
    assert (DEFAULT_BUDGET_TOKENS, DEFAULT_SUPPLEMENT_TOKENS) == (8000, 1500)
    assert ContextOptions() == ContextOptions(8000, EVERY, "v6e", True, "bm25s")


def test_sections_come_in_writing_order_whatever_order_they_are_named_in() -> None:
    assert parse_sections(["facts", " API ", "hardware", "api"]) == (Section.HARDWARE, Section.API, Section.FACTS)
    assert parse_sections([]) == ()


@pytest.mark.parametrize("name", ["foo", "", "api examples"])
def test_an_unknown_section_is_named_with_those_there_are(name: str) -> None:
    with pytest.raises(RagctxError) as caught:
        parse_sections(["api", name], where="--without")
    known = "hardware, rules, api, examples, facts"
    expected = f"--without: unknown section '{name}'; use any of: {known}"
    assert str(caught.value) == " ".join(expected.split())


def test_documentation_settings_of_a_study() -> None:
    assert ContextOptions.for_docs("on", budget_tokens=99) == ContextOptions(99)
    assert ContextOptions.for_docs("off") == ContextOptions(sections=(Section.FACTS,))
    assert ContextOptions.for_docs("none", target="v5e") == ContextOptions(sections=(), role=False, target="v5e")
    assert ContextOptions.for_docs("rules,api") == ContextOptions(sections=(Section.RULES, Section.API))
    with pytest.raises(RagctxError, match="unknown section 'all'"):
        ContextOptions.for_docs("all")


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_is_positive(budget: int) -> None:
    with pytest.raises(RagctxError, match=f"a budget of {budget} tokens"):
        ContextOptions(budget_tokens=budget)


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(RagctxError, match="unknown target 'v9'"):
        ContextOptions(target="v9")


def test_every_kind_has_its_section_and_selected_sections_share_the_budget() -> None:
    assert {kind: SECTION_OF_KIND[kind] for kind in Kind} == {
        Kind.HARDWARE: Section.HARDWARE,
        Kind.API: Section.API,
        Kind.EXAMPLE: Section.EXAMPLES,
        Kind.RULE: Section.RULES,
    }
    assert sum(SHARES.values()) == pytest.approx(1.0)


def test_options_and_contexts_are_values() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ContextOptions().role = False  # type: ignore[misc]
    assert Context("text", {"tokens": 1}).tokens == 1
