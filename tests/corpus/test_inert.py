from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragctx.corpus.inert import inert, one_line


def test_control_characters_become_visible_or_go() -> None:
    assert inert("a\x1b[31mb\x00\x7f\x08") == "a\u241b[31mb\u2400\u2421\u2408"
    assert inert("form\x0cfeed\ufeff") == "formfeed"
    assert inert("one\u2028two\x85three") == "one\u2424two\u2424three"
    assert inert("if x: \u202e# hidden\u2066") == "if x: \ufffd# hidden\ufffd"
    assert inert("\U000e0041\ud800\x9b") == "\ufffd\ufffd\ufffd"


def test_what_languages_and_emoji_need_stays() -> None:
    text = "tab\tline\n가나다 日本語 \u200d\u200c é 👩\u200d💻 {{ x }} {% y %}"
    assert inert(text) == text


def test_one_line() -> None:
    assert one_line("  a\n\tb\u2003c\x00 ") == "a b c\u2400"


@given(st.text())
def test_lines_are_never_added_and_nothing_unsafe_is_left(text: str) -> None:
    result = inert(text)
    assert result.count("\n") == text.count("\n")
    assert not [char for char in result if char not in "\n\t" and (ord(char) < 32 or 127 <= ord(char) < 160)]
    result.encode("utf-8")
    assert inert(result) == result
