from __future__ import annotations

from ragctx.context.options import Section
from ragctx.context.select import NEAR_DUPLICATE, DuplicateFilter, Selection, Unit, by_section, fill
from ragctx.corpus import Chunk, Kind

API, EXAMPLES, RULES = Section.API, Section.EXAMPLES, Section.RULES
KINDS = {API: Kind.API, EXAMPLES: Kind.EXAMPLE, RULES: Kind.RULE}


def unit(
    name: str, section: Section = API, relevance: float = 1.0, tokens: int = 10, text: str = "", part: int = 0
) -> Unit:
    document = f"{section}/{name}"
    chunk = Chunk(f"{document}#{part:03d}", document, KINDS[section], name, (), text or f"{name} {part} alone")
    return Unit(section, document, (chunk,), relevance, 0.0, "test", "", tokens)


def taken(units: list[Unit], budget: int, **options: object) -> list[str]:
    return [u.document.rpartition("/")[2] for u in selected(units, budget, **options).units]


def selected(units: list[Unit], budget: int, **options: object) -> Selection:
    given = {"heading_tokens": {}, "duplicates": DuplicateFilter(), "shares": None, **options}
    return fill(units, budget, **given)  # type: ignore[arg-type]


def test_the_most_relevant_first_and_what_does_not_fit_is_passed_over() -> None:
    units = [unit("c", relevance=1), unit("a", relevance=3, tokens=8), unit("b", relevance=2, tokens=20)]
    assert taken(units, 18) == ["a", "c"]
    assert taken(units, 17) == ["a"]
    assert taken(units, 38) == ["a", "b", "c"]
    assert taken(units, 0) == []


def test_ties_go_to_the_smaller_chunk_id() -> None:
    assert taken([unit("b"), unit("a"), unit("c")], 20) == ["a", "b"]


def test_a_heading_costs_once_a_section() -> None:
    units = [unit("a", relevance=2), unit("b")]
    assert taken(units, 24, heading_tokens={API: 5}) == ["a"]
    assert taken(units, 25, heading_tokens={API: 5}) == ["a", "b"]
    assert taken(units, 14, heading_tokens={API: 5}) == []


def test_each_section_has_its_share_and_what_one_leaves_another_may_use() -> None:
    units = [unit(f"a{n}", API, 9 - n) for n in range(6)] + [unit("e", EXAMPLES, 1.0)]
    shares = {API: 0.5, EXAMPLES: 0.5}
    # 60 tokens: the API part may take 30 before the example had its turn, and 20 more after it.
    assert taken(units, 60, shares=shares) == ["a0", "a1", "a2", "e", "a3", "a4"]
    assert taken(units, 60) == ["a0", "a1", "a2", "a3", "a4", "a5"]


def test_shares_are_among_the_sections_that_have_candidates() -> None:
    units = [unit(f"a{n}", API, 9 - n) for n in range(3)] + [unit("r", RULES, 10.0, tokens=20)]
    # The rules' share is 2/6 of 61, so that their 20 fit; nobody is kept from the examples' share.
    assert taken(units, 61, shares={API: 0.4, EXAMPLES: 0.4, RULES: 0.2}) == ["r", "a0", "a1", "a2"]
    assert taken(units, 50, shares={API: 0.4, EXAMPLES: 0.4, RULES: 0.2}) == ["a0", "a1", "a2", "r"]


WORDS = [f"w{number}" for number in range(104)]


def test_a_near_duplicate_is_dropped_and_reported() -> None:
    # 100 runs of five words each; one changed word at the end changes one run: 99 common of 101.
    near = [*WORDS[:-1], "other"]
    units = [unit("first", relevance=2, text=" ".join(WORDS)), unit("second", text=" ".join(near)), unit("third")]
    selection = selected(units, 100)
    assert [u.document for u in selection.units] == ["api/first", "api/third"]
    assert selection.dropped == [{"chunk": "api/second#000", "reason": "nearly repeats api/first#000"}]


def test_similar_is_not_the_same() -> None:
    assert NEAR_DUPLICATE == 0.8
    half = WORDS[:52] + [f"v{number}" for number in range(52)]
    assert taken([unit("a", text=" ".join(WORDS)), unit("b", text=" ".join(half))], 100) == ["a", "b"]
    # The longer text holds the shorter one and as much again.
    assert taken([unit("a", text=" ".join(WORDS)), unit("b", text=" ".join(WORDS[:60]))], 100) == ["a", "b"]


def test_what_stands_in_the_fixed_parts_is_not_repeated() -> None:
    duplicates = DuplicateFilter()
    duplicates.keep(unit("always", RULES, text=" ".join(WORDS)))
    selection = selected([unit("copy", text=" ".join(WORDS))], 100, duplicates=duplicates)
    assert selection.units == []
    assert selection.dropped == [{"chunk": "api/copy#000", "reason": "nearly repeats rules/always#000"}]


def test_a_cache_of_fingerprints_tells_a_whole_document_from_its_first_part() -> None:
    cache: dict[tuple[str, ...], frozenset[int]] = {}
    first, second = unit("d", text=" ".join(WORDS[:50])), unit("d", text=" ".join(WORDS[50:]), part=1)
    whole = Unit(API, "api/d", (*first.chunks, *second.chunks), 1.0, 0.0, "test", "", 20)
    DuplicateFilter(cache).keep(whole)
    duplicates = DuplicateFilter(cache)
    duplicates.keep(first)
    assert duplicates.repeated(unit("copy", text=" ".join(WORDS[:50]))) == "api/d#000"
    assert duplicates.repeated(whole) is None


def test_short_texts_are_compared_whole() -> None:
    assert taken([unit("a", text="two words"), unit("b", text="two words"), unit("c", text="two lords")], 90) == [
        "a",
        "c",
    ]


def test_parts_of_a_document_stand_together_in_reading_order() -> None:
    units = [
        unit("long", API, 2.0, part=3),
        unit("short", API, 3.0),
        unit("long", API, 5.0, part=4),
        unit("rule", RULES, 9.0),
        unit("last", API, 1.0),
    ]
    grouped = {section: [u.chunks[0].id for u in us] for section, us in by_section(units).items()}
    assert grouped == {
        API: ["api/long#003", "api/long#004", "api/short#000", "api/last#000"],
        RULES: ["rules/rule#000"],
    }
