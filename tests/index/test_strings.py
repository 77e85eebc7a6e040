from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragctx.index.strings import SortedStrings, pack, prefix_keys

ANY_TEXT = st.text(st.characters(), max_size=6) | st.sampled_from(
    ["prefix_0", "prefix_00", "prefix_0\0", "prefix_0 longer", "prefix_0 other", "prefix_", "prefix_\0"]
)


@given(st.sets(ANY_TEXT, max_size=40), ANY_TEXT)
def test_every_string_is_found_at_its_place_and_no_other_is(texts: set[str], other: str) -> None:
    ordered = sorted(texts)
    strings = SortedStrings(*pack(ordered))
    assert list(strings) == ordered
    assert len(strings) == len(ordered)
    assert [strings.find(text) for text in ordered] == list(range(len(ordered)))
    assert (other in strings) == (other in texts)
    wanted = [*ordered, other]
    expected = [ordered.index(text) if text in texts else -1 for text in wanted]
    assert strings.find_many(wanted) == expected
    assert SortedStrings(*pack(ordered), prefix_keys(ordered)).find_many(wanted) == expected
    if other not in texts:
        assert strings.find(other) == -1


def test_places_are_those_of_a_list() -> None:
    strings = SortedStrings(*pack(["a", "b", "\ud800", "漢"]))
    assert strings[0] == "a"
    assert strings[-1] == "漢"
    assert strings[1:3] == ["b", "\ud800"]
    for place in (4, -5):
        with pytest.raises(IndexError):
            strings[place]
    assert 3 not in strings  # type: ignore[operator]
