from __future__ import annotations

import json

import pytest
from cli_command import Command

from ragctx.index import Index


def test_the_best_chunks_with_their_scores(small: Command, brine_index: Index) -> None:
    outcome = small("search", "stuck", "float")
    hits = brine_index.search("stuck float", k=10)
    titles = {hit.id: brine_index.chunk(hit.index).title for hit in hits}
    assert outcome.out == "".join(f"{hit.score:10.5f}  {hit.id}  {titles[hit.id]}\n" for hit in hits)
    assert (outcome.status, outcome.err) == (0, "")
    assert len(hits) >= 3


def test_fewer_and_only_of_a_kind(small: Command) -> None:
    assert len(small("search", "stuck float", "-k", "1").out.splitlines()) == 1
    nothing = small("search", "stuck float", "--kind", "example")
    assert (nothing.status, nothing.out, nothing.err) == (0, "", "ragctx: nothing matches\n")


def test_which_terms_scored(small: Command, brine_index: Index) -> None:
    rows = json.loads(small("search", "stuck float", "--explain", "--json").out)["hits"]
    for row in rows:
        assert sum(term["score"] for term in row["terms"]) == pytest.approx(row["score"], abs=1e-4)
        assert row["terms"] == sorted(row["terms"], key=lambda term: -term["score"])
    lines = small("search", "stuck float", "--explain").out.splitlines()
    first = rows[0]["terms"]
    shown = [line.split() for line in lines[1 : 1 + len(first)]]
    assert shown == [[f"{term['score']:.5f}", term["term"], f"x{term['weight']}"] for term in first]


def test_json(small: Command, brine_index: Index) -> None:
    answer = json.loads(small("search", "stuck", "--json").out)
    assert answer["query"] == "stuck"
    assert answer["terms"] == brine_index.query("stuck")
    first = answer["hits"][0]
    chunk = brine_index.chunk(brine_index.chunk_number(first["chunk"]))
    assert first == {
        "chunk": chunk.id,
        "document": chunk.document,
        "score": brine_index.search("stuck", k=1)[0].score,
        "title": chunk.title,
        "heading": [],
        "tokens": chunk.tokens,
    }


def test_both_engines_agree(small: Command) -> None:
    ours = small("search", "stuck float", "--json", "--explain")
    assert small("search", "stuck float", "--json", "--explain", "--engine", "rank-bm25").out == ours.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["!!!"], "the query holds no word to search for; give words, names or an error text"),
        ([""], "the query holds no word to search for; give words, names or an error text"),
        (["stuck", "--kind", "page"], "unknown kind 'page'; use one of: hardware, api, example, rule"),
        (["stuck", "-k", "0"], "k"),
        (["stuck", "--index", "missing"], "missing: "),
    ],
)
def test_bad_input_is_one_line(small: Command, arguments: list[str], says: str) -> None:
    outcome = small("search", *arguments)
    assert outcome.status == 1
    assert says in outcome.error


def test_an_unknown_engine_is_a_usage_error(small: Command) -> None:
    assert small("search", "stuck", "--engine", "other").status == 2
    outcome = small("search", "stuck", RAGCTX_ENGINE="other")
    assert outcome.status == 1
    assert "other" in outcome.error
