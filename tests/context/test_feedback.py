from __future__ import annotations

from collections import Counter
from math import log
from typing import cast

from ragctx.context.feedback import DOCUMENTS, TERMS, feedback_terms
from ragctx.index import Index


class Frequencies:
    """As much of an index as feedback asks for."""

    def __init__(self, chunks: int, frequencies: dict[str, int]) -> None:
        self._chunks = chunks
        self._frequencies = frequencies

    def __len__(self) -> int:
        return self._chunks

    def frequency(self, term: str) -> int:
        return self._frequencies[term]


def terms(index: Frequencies, best: list[tuple[int, float]], counts: dict[int, dict[str, int]]) -> dict[str, int]:
    return feedback_terms(cast(Index, index), best, lambda number: Counter(counts[number]))


def test_weights_are_those_of_the_formula() -> None:
    index = Frequencies(10, {"yard": 1, "tank": 3, "the": 10})
    counts = {4: {"yard": 2, "tank": 1, "the": 1}, 7: {"tank": 3, "the": 1}}

    # score * frequency / length, summed over both documents, times ln(1 + (N - n + 0.5) / (n + 0.5)).
    yard = (8.0 * 2 / 4) * log(1 + 9.5 / 1.5)
    tank = (8.0 * 1 / 4 + 4.0 * 3 / 4) * log(1 + 7.5 / 3.5)
    the = (8.0 * 1 / 4 + 4.0 * 1 / 4) * log(1 + 0.5 / 10.5)
    largest = max(yard, tank, the)

    found = terms(index, [(4, 8.0), (7, 4.0)], counts)

    assert found == {
        "yard": round(10 * yard / largest),
        "tank": round(10 * tank / largest),
        "the": max(1, round(10 * the / largest)),
    }
    assert found == {"yard": 10, "tank": 7, "the": 1}


def test_the_largest_are_kept_and_ties_go_in_the_order_of_terms() -> None:
    names = [f"t{number:03d}" for number in range(TERMS + 5)]
    index = Frequencies(100, dict.fromkeys(names, 2))
    found = terms(index, [(0, 1.0)], {0: dict.fromkeys(reversed(names), 1)})
    assert list(found) == names[:TERMS]
    assert set(found.values()) == {10}


def test_nothing_comes_of_nothing() -> None:
    index = Frequencies(10, {"a": 1})
    assert terms(index, [], {}) == {}
    assert terms(index, [(0, 1.0)], {0: {}}) == {}
    assert terms(index, [(0, 0.0)], {0: {"a": 1}}) == {}
    assert DOCUMENTS == 4
