from __future__ import annotations

import pytest

from ragctx.corpus import Document, Kind, matching
from ragctx.errors import RagctxError


def _rule(slug: str, *triggers: str) -> Document:
    return Document(id=f"rule/{slug}", kind=Kind.RULE, title=slug, body="x", triggers=triggers)


def _ids(documents: list[Document], text: str) -> list[str]:
    return [document.id for document in matching(documents, text)]


def test_the_most_specific_document_comes_first_then_the_smaller_id() -> None:
    documents = [
        _rule("vague", "block shape"),
        _rule("b-exact", r"block shape \(\d+, \d+\) is not divisible", "block"),
        _rule("a-exact", r"block shape \(\d+, \d+\) is not divisible"),
        _rule("other", "semaphore"),
        _rule("silent"),
    ]
    assert _ids(documents, "E1: block shape (4, 128) is not divisible") == [
        "rule/a-exact",
        "rule/b-exact",
        "rule/vague",
    ]


def test_only_both_ends_of_a_huge_text_count() -> None:
    documents = [_rule("head", "first words"), _rule("middle", "hidden words"), _rule("tail", "last words")]
    padding = "x" * 5_000_000
    assert _ids(documents, f"first words {padding} hidden words {padding} last words") == ["rule/head", "rule/tail"]


def test_the_cut_joins_no_words() -> None:
    text = "a" * 19_998 + "VM" + "z" * 50_000 + "EM" + "b" * 19_998
    assert _ids([_rule("cut", "VMEM")], text) == []


def test_terminal_colours_do_not_hide_a_message() -> None:
    assert _ids([_rule("vmem", "exceeded scoped vmem")], "\x1b[31mexceeded \x1b[1mscoped\x1b[0m vmem") == ["rule/vmem"]


def test_a_bad_trigger_names_its_document() -> None:
    with pytest.raises(RagctxError) as caught:
        matching([_rule("bad", "(")], "text")
    assert str(caught.value) == (
        "rule/bad: trigger '(': not a regular expression: missing ), unterminated subpattern at position 0; "
        "correct the trigger"
    )
