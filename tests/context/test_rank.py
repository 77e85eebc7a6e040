from __future__ import annotations

from math import log

import pytest

from ragctx.context.rank import (
    ASIDE,
    CONSIDERED,
    SEEDS,
    SHARED_BY,
    WEIGHTS,
    Evidence,
    References,
    Relevance,
    best_documents,
    rank_documents,
)

NONE = References(4, [], [], [])
SECOND = 1 - log(2) / log(21)
"""The place of a second document among few: 1 - ln(1 + 1) / ln(1 + 20)."""


def values(ranked: list[Relevance]) -> dict[int, float]:
    return {relevance.document: relevance.value for relevance in ranked}


def test_own_scores_and_places() -> None:
    assert rank_documents(Evidence({0: 1.0, 2: 4.0}), NONE) == [
        Relevance(2, round(1.2 * 1.0 + 2.3 * 1.0, 6), True, None),
        Relevance(0, round(1.2 * 0.25 + 2.3 * SECOND, 6), True, None),
    ]


def test_ties_go_to_the_smaller_number() -> None:
    assert [r.document for r in rank_documents(Evidence({}, {}, {3: 1.0, 1: 1.0}), NONE)] == []
    ranked = rank_documents(Evidence({5: 1.0}, {}, {3: 0.5, 1: 0.5}), References(6, [], [], []))
    assert [(r.document, r.matched) for r in ranked] == [(5, True), (1, False), (3, False)]
    assert best_documents({4: 1.0, 1: 1.0, 2: 3.0}, 2) == [2, 1]


def test_nothing_matches_nothing_ranks() -> None:
    assert rank_documents(Evidence({}), NONE) == []


def test_feedback_and_units_add_up() -> None:
    found = values(rank_documents(Evidence({0: 2.0}, {0: 0.5}, {0: 0.5, 1: 1.0}), NONE))
    assert found == {0: round(1.2 + 2.3 + 1.7 * 0.5 + 2.4 * 0.125, 6), 1: 2.4}


def test_what_the_best_document_leans_on_comes_along_and_what_that_leans_on_less() -> None:
    references = References(4, [0, 1], [1, 2], [0.5, 0.8])

    ranked = rank_documents(Evidence({0: 3.0}), references)

    needed = 2.0 * 0.5 + 1.5 * 0.5 / SHARED_BY
    further = 1.2 * (0.6 * 0.5) * 0.8
    assert ranked == [
        Relevance(0, 3.5, True, None),
        Relevance(1, round(needed, 6), False, 0),
        Relevance(2, round(further, 6), False, 1),
    ]


def test_several_best_documents_lean_on_one() -> None:
    """1 - (1 - w0 * 1) * (1 - w1 * 0.8) for the first and second seed, never above 0.95 for one of them."""
    references = References(4, [0, 1], [2, 2], [1.0, 0.5])
    found = values(rank_documents(Evidence({0: 3.0, 1: 1.5}), references))
    needed = 1 - (1 - 0.95) * (1 - 0.8 * 0.5)
    assert found[2] == round(2.0 * needed + 1.5 * (1.0 + 0.5) / SHARED_BY, 6)


def test_only_seeds_are_followed() -> None:
    own = {document: 10.0 - document for document in range(SEEDS + 1)}
    references = References(10, list(own), [9] * len(own), [0.01] * len(own))
    found = values(rank_documents(Evidence(own), references, weights=WEIGHTS))
    alone = References(10, [SEEDS], [9], [0.01])
    last = values(rank_documents(Evidence(own), alone))
    assert last[9] == round(1.5 * 0.01 / SHARED_BY, 6)
    left = 1.0
    for place in range(SEEDS):
        left *= 1 - 0.01 * (1 - 0.2 * place)
    assert found[9] == round(2.0 * (1 - left) + 1.5 * 0.01 * (SEEDS + 1) / SHARED_BY, 6)


def test_what_uses_a_matching_document_comes_a_little() -> None:
    found = values(rank_documents(Evidence({0: 3.0}), References(4, [2], [0], [0.5])))
    assert found == {0: 3.5, 2: round(0.6 * 0.5, 6)}


def test_a_document_that_everything_leans_on_passes_little_to_each() -> None:
    found = values(rank_documents(Evidence({0: 3.0}), References(11, list(range(1, 11)), [0] * 10, [1.0] * 10)))
    spread = 10 * 1.0 / 2.0
    assert {value for document, value in found.items() if document} == {round(0.6 / spread, 6)}


def test_pages_beside_the_api_count_for_a_fifth_and_lose_half_a_point() -> None:
    found = values(rank_documents(Evidence({0: 3.0, 1: 3.0}, aside=frozenset({0})), NONE))
    assert found == {1: 3.5, 0: round(1.2 * ASIDE + 2.3 * SECOND - 0.5, 6)}


def test_a_reference_to_or_from_a_page_beside_the_api_counts_for_a_fifth() -> None:
    found = values(rank_documents(Evidence({0: 3.0}, aside=frozenset({1})), References(4, [0], [1], [0.5])))
    share = 0.5 * ASIDE
    assert found[1] == round(2.0 * share + 1.5 * share / SHARED_BY - 0.5, 6)


def test_places_are_counted_within_a_group() -> None:
    found = values(rank_documents(Evidence({0: 4.0, 1: 2.0}), NONE, group=lambda document: document))
    assert found == {0: 3.5, 1: round(1.2 * 0.5 + 2.3, 6)}


def test_reach_scales_what_comes_by_reference_alone() -> None:
    references = References(4, [0], [1], [0.5])
    whole = values(rank_documents(Evidence({0: 3.0}), references))
    some = values(rank_documents(Evidence({0: 3.0}), references, reach=lambda document: 0.1))
    assert some[0] == whole[0]
    assert some[1] == pytest.approx(0.1 * whole[1], abs=1e-6)


def test_a_document_that_matches_says_so_unless_others_need_it_more() -> None:
    strong = References(4, [0], [1], [0.5])
    ranked = {r.document: r for r in rank_documents(Evidence({0: 3.0, 1: 0.03}), strong)}
    assert (ranked[1].matched, ranked[1].via) == (True, None)
    crowd = {document: 3.0 - document / 1000 for document in range(2, 60)}
    ranked = {
        r.document: r for r in rank_documents(Evidence({0: 3.0, **crowd, 1: 0.03}), References(60, [0], [1], [1.0]))
    }
    assert (ranked[1].matched, ranked[1].via) == (True, 0)


def test_no_more_than_the_considered_are_placed() -> None:
    own = {document: 1000.0 - document for document in range(CONSIDERED + 5)}
    ranked = rank_documents(Evidence(own), References(CONSIDERED + 5, [], [], []))
    assert [r.document for r in ranked] == list(range(CONSIDERED))


def test_references_by_source_and_by_target() -> None:
    references = References(4, [2, 0, 0], [1, 3, 1], [0.25, 0.5, 1.0])
    assert references.needed_by(0) == ([3, 1], [0.5, 1.0])
    assert references.needed_by(3) == ([], [])
    assert references.using(1) == ([2, 0], [0.25, 1.0])


def test_the_order_of_edges_and_scores_does_not_matter() -> None:
    edges = [(0, 1, 0.5), (0, 2, 0.5), (3, 1, 0.25), (3, 2, 0.25)]
    forward = References(4, *zip(*edges, strict=True))
    backward = References(4, *zip(*reversed(edges), strict=True))
    one = rank_documents(Evidence({0: 2.0, 3: 1.0}), forward)
    assert one == rank_documents(Evidence({3: 1.0, 0: 2.0}), backward)
    assert [r.document for r in one] == [0, 3, 1, 2]
