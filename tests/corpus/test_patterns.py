from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragctx.corpus.patterns import PatternError, compile_pattern, run_states

_ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "A",
        "k",
        "ſ",
        r"\.",
        ".",
        "[ab]",
        "[^a]",
        r"\d",
        r"\w",
        r"\s",
        r"[\w-]",
        "[a-c1]",
        "^",
        "(?<!a)",
        "(?<=b)",
        "(?=[ab])",
        "(?!k)",
        r"(?!a\w*b)",
        "$",
        r"\b",
        r"\Z",
    ]
)


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = inner.map(lambda p: f"(?:{p})")
    return st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(group, st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{2,}"])).map("".join),
        st.tuples(inner, st.sampled_from(["(%s)", "(?i:%s)", "(?s:%s)", "(?-i:%s)"])).map(
            lambda pair: pair[1] % pair[0]
        ),
    )


_PATTERNS = st.tuples(st.sampled_from(["", "(?i)", "(?m)", "(?s)", "(?im)"]), st.recursive(_ATOMS, _grow, max_leaves=6))


@settings(max_examples=400, deadline=None)
@given(_PATTERNS, st.text(alphabet="abAcKkſ1.- \n", max_size=12))
def test_both_engines_give_the_answer_of_re(pattern: tuple[str, str], text: str) -> None:
    source = "".join(pattern)
    try:
        compiled = compile_pattern(source)
    except PatternError as error:
        assert str(error) == "matches every text" or "more than" in str(error)
        return
    expected = re.search(source, text) is not None
    assert compiled.search(text) is expected
    if compiled._states:
        assert run_states(compiled._states, text) is expected


@pytest.mark.parametrize(
    ("source", "text", "matches"),
    [
        (r"(a|aa)+\Z", "a" * 40_000 + "!", False),
        (r"(a+)+b", "a" * 40_000, False),
        (r"a.*b.*c.*d", "abc" * 13_000, False),
        ("a?" * 30 + "a" * 30, "a" * 29, False),
        ("a?" * 30 + "a" * 30, "a" * 30, True),
        (r"(x\w*)*y\b", "x" * 40_000 + "y", True),
    ],
)
def test_patterns_that_hang_a_backtracking_engine_answer(source: str, text: str, matches: bool) -> None:
    assert compile_pattern(source).search(text) is matches


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("(", "not a regular expression: missing ), unterminated subpattern at position 0"),
        (".*", "matches every text"),
        ("a|", "matches every text"),
        (r"(a)\1+", "with a back-reference it could take forever; take that or the open-ended repeats out"),
        (r"(?=a+b+)a+", "with several open-ended repeats in look-around it could take forever; take that or the open"),
        ("a{900}b*", "with more than 800 states it could take forever; take that or the open-ended repeats out"),
        ("a" * 1001, "longer than 1000 characters"),
    ],
)
def test_unusable_patterns_say_why(source: str, reason: str) -> None:
    with pytest.raises(PatternError, match=f"^{re.escape(reason)}"):
        compile_pattern(source)


def test_look_around_is_fine_without_open_ended_repeats() -> None:
    assert compile_pattern(r"(?<!scoped )vmem").search("hbm vmem")
    assert not compile_pattern(r"(?<!scoped )vmem").search("scoped vmem")


@pytest.mark.parametrize(
    ("source", "literal", "chars"),
    [
        ("block shape .* (divisible|equal) by", "block shape ", 16),
        (r"E100[0-9]: Compile", ": Compile", 13),
        ("(?i)VMEM limit", "vmem", 10),
        ("(?:abc){2} d?", "abc", 4),
        ("ab|ab", "ab", 2),
    ],
)
def test_literals_are_those_that_every_match_contains(source: str, literal: str, chars: int) -> None:
    pattern = compile_pattern(source)
    assert (pattern.literal, pattern.literal_chars) == (literal, chars)
