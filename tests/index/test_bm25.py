"""Both engines pass one contract: exact scores worked out by hand, and equal rankings on any corpus."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragctx.errors import RagctxError
from ragctx.index.bm25 import ENGINES, Contribution, Engine, build_postings, engine, quantised, rounded

TEXTS = [["a", "b", "b"], ["a", "c"], ["c", "c", "c", "d"]]


def made(name: str, texts: list[list[str]]) -> Engine:
    return engine(name, build_postings(texts))


def ranking(subject: Engine, terms: dict[str, int], k: int) -> list[tuple[int, float]]:
    top = subject.top(terms, k)
    return list(zip(top.chunks.tolist(), top.scores.tolist(), strict=True))


class EngineContract:
    name: str

    def engine(self, texts: list[list[str]]) -> Engine:
        return made(self.name, texts)

    def test_it_has_its_name(self) -> None:
        assert self.engine(TEXTS).name == self.name

    # Three texts of 3, 2 and 4 terms, 3 on average. "a" and "c" are in two: idf = ln(1 + 1.5 / 2.5) = 0.4700036;
    # "b" and "d" in one: idf = ln(1 + 2.5 / 1.5) = 0.9808293.
    #   a in text 0: f = 1, length 3 = mean:  1 / (1 + 1.5)                       = 0.4        -> 0.1880015
    #   a in text 1: f = 1, length 2:         1 / (1 + 1.5 (0.25 + 0.75 2/3))     = 0.4705882  -> 0.2211782
    #   b in text 0: f = 2, length 3:         2 / (2 + 1.5)                       = 0.5714286  -> 0.5604739
    #   c in text 2: f = 3, length 4:         3 / (3 + 1.5 (0.25 + 0.75 4/3))     = 0.6153846  -> 0.2892330
    #   d in text 2: f = 1, length 4:         1 / (1 + 1.875)                     = 0.3478261  -> 0.3411580
    @pytest.mark.parametrize(
        ("terms", "expected"),
        [
            ({"a": 1}, [0.18800, 0.22118, 0.0]),
            ({"b": 1}, [0.56047, 0.0, 0.0]),
            ({"c": 1}, [0.0, 0.22118, 0.28923]),
            ({"a": 1, "b": 1}, [0.74848, 0.22118, 0.0]),
            ({"a": 2}, [0.37600, 0.44236, 0.0]),
            ({"c": 3, "d": 2}, [0.0, 0.66353, 1.55002]),
            ({"unknown": 5}, [0.0, 0.0, 0.0]),
            ({}, [0.0, 0.0, 0.0]),
        ],
    )
    def test_scores_worked_out_by_hand(self, terms: dict[str, int], expected: list[float]) -> None:
        assert self.engine(TEXTS).scores(terms).tolist() == expected

    def test_a_term_in_all_texts_scores_above_0(self) -> None:
        # idf = ln(1 + 0.5 / 2.5), f / (f + k1) = 0.4
        assert self.engine([["x"], ["x"]]).scores({"x": 1}).tolist() == [0.07293, 0.07293]

    def test_a_term_in_half_of_the_texts_scores_above_0(self) -> None:
        # idf = ln(1 + 1.5 / 1.5) = ln 2: BM25Okapi of rank-bm25 has ln 1 = 0 here.
        assert self.engine([["x"], ["y"]]).scores({"x": 1}).tolist() == [round(math.log(2) * 0.4, 5), 0.0]

    def test_a_commoner_term_never_outscores_a_rarer_one(self) -> None:
        subject = self.engine([["common", "rare"], ["common", "other"], ["common", "thing"]])
        assert subject.scores({"common": 1})[0] < subject.scores({"rare": 1})[0]

    def test_a_weight_is_a_repetition(self) -> None:
        subject = self.engine(TEXTS)
        assert subject.raw_scores({"a": 3, "b": 2}).tolist() == [
            3 * a + 2 * b for a, b in zip(subject.raw_scores({"a": 1}), subject.raw_scores({"b": 1}), strict=True)
        ]

    @pytest.mark.parametrize("weight", [0, -1, 1.5, True, "2"])
    def test_other_weights_are_refused(self, weight: object) -> None:
        with pytest.raises(RagctxError, match="the weight of 'a' is"):
            self.engine(TEXTS).top({"a": weight}, 3)  # type: ignore[dict-item]

    def test_ranking_is_by_score_then_number(self) -> None:
        subject = self.engine([["x"], ["y"], ["x"], ["x", "x", "x"], ["y"]])
        assert [chunk for chunk, _ in ranking(subject, {"x": 1}, 5)] == [3, 0, 2]

    def test_k_larger_than_the_corpus_returns_what_there_is(self) -> None:
        assert [chunk for chunk, _ in ranking(self.engine(TEXTS), {"a": 1, "c": 1}, 1000)] == [1, 2, 0]

    def test_k_cuts_inside_a_tie_by_number(self) -> None:
        # idf = ln(1 + 1.5 / 6.5), f / (f + k1) = 0.4
        assert ranking(self.engine([["x"]] * 6 + [["y"]]), {"x": 1}, 2) == [(0, 0.08306), (1, 0.08306)]

    @pytest.mark.parametrize("k", [0, -1])
    def test_k_below_1_is_an_error(self, k: int) -> None:
        with pytest.raises(RagctxError, match=r"cannot return -?\d results; ask for at least 1"):
            self.engine(TEXTS).top({"a": 1}, k)

    def test_no_match_is_no_result(self) -> None:
        assert ranking(self.engine(TEXTS), {"unknown": 1}, 3) == []

    def test_only_allowed_texts_are_returned(self) -> None:
        top = self.engine(TEXTS).top({"a": 1, "c": 1}, 3, np.array([True, False, True]))
        assert top.chunks.tolist() == [2, 0]

    def test_texts_without_terms_match_nothing(self) -> None:
        subject = self.engine([[], ["x", "y"], []])
        assert ranking(subject, {"x": 1}, 3) == [(1, round(math.log(1 + 2.5 / 1.5) / (1 + 1.5 * (0.25 + 0.75 * 3)), 5))]

    @pytest.mark.parametrize("texts", [[], [[]], [[], []]])
    def test_an_empty_corpus_is_an_error(self, texts: list[list[str]]) -> None:
        with pytest.raises(RagctxError, match="the corpus is empty: there is nothing to search; name a folder"):
            self.engine(texts)

    def test_contributions_add_up(self) -> None:
        subject = self.engine(TEXTS)
        found = subject.contributions({"c": 3, "d": 2, "a": 1, "unknown": 9}, 2)
        assert [(c.term, c.weight, round(c.score, 5)) for c in found] == [("c", 3, 0.8677), ("d", 2, 0.68232)]
        assert sum(c.score for c in found) == subject.raw_scores({"c": 3, "d": 2, "a": 1})[2]
        assert subject.contributions({"b": 1}, 1) == []

    def test_equal_contributions_are_in_order_of_terms(self) -> None:
        found = self.engine([["y", "x"], ["z"]]).contributions({"y": 1, "x": 1}, 0)
        assert [c.term for c in found] == ["x", "y"]

    def test_a_large_corpus_is_cut_where_a_small_one_is(self) -> None:
        """Above a few hundred texts the best are found by the maxima of groups first."""
        draw = random.Random(7)
        texts = [[draw.choice("abcdefgh") for _ in range(draw.randint(1, 9))] for _ in range(1500)]
        subject = self.engine(texts)
        terms = {"a": 2, "b": 1, "h": 1}
        scores = subject.scores(terms)
        whole = sorted((-score, i) for i, score in enumerate(scores.tolist()) if score > 0)
        for k in (1, 2, 10, 33):
            assert ranking(subject, terms, k) == [(i, -score) for score, i in whole[:k]]


class TestStoredEngine(EngineContract):
    name = "bm25s"


class TestReferenceEngine(EngineContract):
    name = "rank-bm25"


WORDS = st.sampled_from(["a", "b", "c", "d", "e", "aa", "é", "漢", "x y", "\ud800"])
CORPORA = st.lists(st.lists(WORDS, max_size=12), min_size=1, max_size=25).filter(any)
QUERIES = st.dictionaries(WORDS, st.integers(1, 5), max_size=6)


@settings(max_examples=150, deadline=None)
@given(texts=CORPORA, terms=QUERIES, k=st.integers(1, 30))
def test_engines_agree_on_any_corpus(texts: list[list[str]], terms: dict[str, int], k: int) -> None:
    stored, reference = made("bm25s", texts), made("rank-bm25", texts)
    assert stored.raw_scores(terms).tolist() == reference.raw_scores(terms).tolist()
    assert ranking(stored, terms, k) == ranking(reference, terms, k)
    for chunk in range(len(texts)):
        assert stored.contributions(terms, chunk) == reference.contributions(terms, chunk)


@settings(max_examples=150, deadline=None)
@given(texts=CORPORA, terms=QUERIES)
def test_what_matches_scores_above_0_and_nothing_else(texts: list[list[str]], terms: dict[str, int]) -> None:
    scores = made("bm25s", texts).scores(terms)
    assert [score > 0 for score in scores.tolist()] == [bool(set(text) & set(terms)) for text in texts]


@settings(max_examples=60, deadline=None)
@given(texts=CORPORA, terms=QUERIES)
def test_the_order_of_query_terms_does_not_matter(texts: list[list[str]], terms: dict[str, int]) -> None:
    subject = made("bm25s", texts)
    backwards = dict(reversed(terms.items()))
    assert subject.raw_scores(terms).tolist() == subject.raw_scores(backwards).tolist()


@settings(max_examples=60, deadline=None)
@given(texts=CORPORA, terms=QUERIES)
def test_scores_are_the_formula(texts: list[list[str]], terms: dict[str, int]) -> None:
    """An implementation of the module's formula in exact fractions but for the logarithm."""
    mean = Fraction(sum(map(len, texts)), len(texts))
    expected = []
    for text in texts:
        score = 0.0
        for term, weight in terms.items():
            n = sum(term in other for other in texts)
            f = text.count(term)
            share = f / (f + Fraction(3, 2) * (Fraction(1, 4) + Fraction(3, 4) * len(text) / mean))
            score += weight * math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) * float(share)
        expected.append(score)
    assert made("bm25s", texts).raw_scores(terms).tolist() == pytest.approx(expected, abs=1e-10)


def test_rounding_keeps_every_match_above_0() -> None:
    raw = np.array([0.0, 1e-12, 3e-6, 1.4e-5, 1.6e-5, 0.123456, 1.000004])
    assert rounded(raw).tolist() == [0.0, 1e-5, 1e-5, 1e-5, 2e-5, 0.12346, 1.0]


def test_quantised_scores_are_multiples_of_a_power_of_two() -> None:
    shares = np.array([1e-15, 0.1, 0.4700036292457356])
    kept = quantised(shares)
    assert (kept * 2**40 % 1 == 0).all()
    assert kept[0] == 2**-40
    assert np.abs(kept[1:] - shares[1:]).max() < 1e-12


def test_the_names_of_engines() -> None:
    assert ENGINES == ("bm25s", "rank-bm25")
    with pytest.raises(RagctxError, match="unknown engine 'okapi'; use one of: bm25s, rank-bm25"):
        made("okapi", TEXTS)


def test_contributions_are_values() -> None:
    assert Contribution("a", 1, 0.5) == Contribution("a", 1, 0.5)


def test_building_neither_imports_jax_nor_numba_nor_changes_what_is_imported() -> None:
    code = """
import sys
from ragctx.index.bm25 import build_postings
build_postings([["a"]])
assert "bm25s" in sys.modules
for name in ("jax", "numba"):
    assert name not in sys.modules, name
import bm25s.selection
assert not bm25s.selection.JAX_IS_AVAILABLE
import jax
assert jax.__version__
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_building_leaves_an_imported_jax_in_place() -> None:
    code = """
import sys
import jax
from ragctx.index.bm25 import build_postings
build_postings([["a"]])
assert sys.modules["jax"] is jax
import bm25s.selection
assert not bm25s.selection.JAX_IS_AVAILABLE
"""
    subprocess.run([sys.executable, "-c", code], check=True)
