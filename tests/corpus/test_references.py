from __future__ import annotations

from pathlib import Path

import pytest

from ragctx.corpus import Document, Kind, Layer, load_corpus
from ragctx.corpus.references import Edge, defined_terms, mentioned_terms, read_terms, resolve, stem

FILLER = [Document(f"api/z{n}", Kind.API, f"Zebra{n}", f"# Zebra{n}\n\nStripes number {n}.\n") for n in range(4)]
"""Pages without a word in common with others, so that a corpus is not so small that every word is common."""


def page(name: str, body: str, *, kind: Kind = Kind.API, **fields: object) -> Document:
    title = body.splitlines()[0].lstrip("# ") if body.startswith("#") else name
    return Document(f"{kind.value}/{name}", kind, title, body, **fields)  # type: ignore[arg-type]


def edges(*documents: Document) -> dict[tuple[str, str], tuple[float, str]]:
    """Edges by the names of their documents."""
    every = [*documents, *FILLER]
    return {
        (every[e.source].id.partition("/")[2], every[e.target].id.partition("/")[2]): (e.weight, e.term)
        for e in resolve(every)
    }


OPEN = page("open_yard", "# open_yard\n\nOpens it.\n")


@pytest.mark.parametrize(
    "mention",
    [
        "```python\nopen_yard('dover')\n```",
        "See `open_yard` first.",
        "Call open_yard first.",
        "Call `brine.open_yard()`.",
    ],
)
def test_a_name_leads_to_the_page_it_is_the_title_of(mention: str) -> None:
    found = edges(OPEN, page("level", f"# Level\n\n{mention}\n"))
    # 1 - (1 - name) * (1 - words of the name); with a module before it also that of the last part.
    assert found == {
        ("level", "open_yard"): (0.97 if "brine" not in mention else found["level", "open_yard"][0], "open_yard")
    }
    assert found["level", "open_yard"][0] >= 0.91


def test_words_of_a_title_in_prose() -> None:
    found = edges(page("stuck", "# Stuck floats\n\nWhat to do.\n"), page("b", "# B\n\nWhere stuck floats occur.\n"))
    assert set(found) == {("b", "stuck")}
    weight, term = found["b", "stuck"]
    assert (term, weight >= 0.6) == ("~stuck float", True)


def test_inflections_are_the_same_word() -> None:
    assert [stem(word) for word in ("dollops", "dollop", "opening", "opened")] == ["dollop", "dollop", "open", "open"]
    found = edges(page("dollops", "# Dollops\n\nA unit.\n"), page("b", "# B\n\nOne dollop is small.\n"))
    assert found == {("b", "dollops"): (0.6, "~dollop")}


def test_common_and_generic_words_of_a_title_are_no_terms() -> None:
    overview = page("overview", "# An overview of all the methods\n\nRead on.\n")
    assert edges(overview, page("b", "# B\n\nAn overview of the methods of all.\n")) == {}


def test_type_in_a_signature_leads_to_where_one_is_made() -> None:
    opener = page("open_yard", "# open_yard\n\n```python\nopen_yard(site: str) -> Yard\n```\n")
    user = page("level", "# level\n\n```python\nlevel(yard: Yard, tank: int) -> int\n```\n")
    assert ("level", "open_yard") in edges(opener, user)
    assert ("open_yard", "level") not in edges(opener, user)


def test_error_codes_lead_to_their_row_and_their_family() -> None:
    table = page("errors", "# Errors\n\n| code | meaning |\n| --- | --- |\n| E204 | stuck |\n")
    row = edges(table, page("b", "# B\n\nFails with E204 at times.\n"))
    # The row defines the code at half strength; the page on errors is the home of every code of its family.
    # As a word of prose it stands on two of six pages, which leaves 1 - 2 / (0.6 * 6) of 0.4 * 0.5.
    word = 0.4 * 0.5 * (1 - 2 / 3.6)
    assert row == {("b", "errors"): (round(1 - (1 - 0.9 * 0.5) * (1 - 0.6 * 0.7) * (1 - word), 4), "E204")}
    other = edges(table, page("b", "# B\n\nFails with E999 at times.\n"))
    assert other == {("b", "errors"): (0.42, "E#")}


def test_constants_and_members_lead_to_their_page() -> None:
    states = page("states", "# States\n\n| name | meaning |\n| --- | --- |\n| `Vat.FULL` | brimful |\n")
    assert ("b", "states") in edges(states, page("b", "# B\n\nWait for `Vat.FULL`.\n"))
    limit = page("limits", "# Limits\n\n```python\nMAX_VATS = 12\n```\n")
    assert ("b", "limits") in edges(limit, page("b", "# B\n\nNever above MAX_VATS.\n"))


@pytest.mark.parametrize(
    ("link", "from_file"),
    [
        ("[how](../guide/salt.md)", "reference/b.md"),
        ("[how](../guide/salt.md#top)", "reference/b.md"),
        ("[how](/guide/salt.md)", "deep/er/b.md"),
        ("[how](salt.md)", "guide/b.md"),
        ("[how](./salt)", "guide/b.md"),
        ("[how](<salt.md>)", "guide/b.md"),
        ("[how](salt.md 'a title')", "guide/b.md"),
        ("[[salt]]", "guide/b.md"),
        ("[[salt|how]]", "guide/b.md"),
    ],
)
def test_links_are_edges_of_full_weight(link: str, from_file: str) -> None:
    target = page("guide/salt", "# Qwx\n\nText.\n", file="guide/salt.md", layer="mine")
    source = page("b", f"# B\n\nSee {link}.\n", file=from_file, layer="mine")
    assert edges(target, source)["b", "guide/salt"][0] == 1.0


@pytest.mark.parametrize(
    "link", ["[how](https://x.org/guide/salt.md)", "[how](#top)", "[how](other.md)", "![x](salt.png)"]
)
def test_links_elsewhere_are_none(link: str) -> None:
    target = page("guide/qwx", "# Qwx\n\nText.\n", file="guide/qwx.md", layer="mine")
    assert edges(target, page("b", f"# B\n\nSee {link}.\n", file="guide/b.md", layer="mine")) == {}


def test_a_link_stays_in_its_layer() -> None:
    target = page("jug", "# Qwx\n\nText.\n", file="jug.md", layer="theirs")
    found = edges(target, page("b", "# B\n\nSee [it](jug.md).\n", file="b.md", layer="mine"))
    # What is left is the word, by which the file is called.
    assert found == {("b", "jug"): (round(0.7 * 0.7, 4), "~jug")}


def test_related_documents_are_edges_of_full_weight() -> None:
    found = edges(OPEN, page("b", "# B\n\nText.\n", related=("api/open_yard", "api/gone")))
    assert found == {("b", "open_yard"): (1.0, "api/open_yard")}


def test_symbols_of_the_front_matter_define() -> None:
    card = page("spec", "Says which block.\n", symbols=("pl.BlockSpec",))
    assert "pl.BlockSpec" in defined_terms(card)
    assert edges(card, page("b", "# B\n\nUse `pl.BlockSpec`.\n"))["b", "spec"][0] > 0.9
    assert edges(card, page("b", "# B\n\nUse `BlockSpec`.\n"))["b", "spec"][0] > 0.7


def test_a_page_is_not_led_away_from_itself() -> None:
    found = edges(OPEN, page("again", "# open_yard\n\nopen_yard is here too.\n"))
    assert found == {}


def test_several_homes_share_and_too_many_are_none() -> None:
    homes = [page(f"h{n}", f"# Part {n}\n\n## gauge_read\n\nText.\n") for n in range(2)]
    one = edges(homes[0], page("b", "# B\n\n`gauge_read`\n"))["b", "h0"][0]
    two = edges(*homes, page("b", "# B\n\n`gauge_read`\n"))
    assert one == round(1 - (1 - 0.9 * 0.7) * (1 - 0.7 * 0.7), 4)
    assert two["b", "h0"][0] == two["b", "h1"][0] == round(1 - (1 - 0.9 * 0.35) * (1 - 0.7 * 0.35), 4)
    many = [page(f"h{n}", f"# Part {n}\n\n## gauge_read\n\nText.\n") for n in range(5)]
    assert edges(*many, page("b", "# B\n\n`gauge_read`\n")) == {}


def test_a_title_is_more_of_a_home_than_a_heading() -> None:
    heading = page("guide", "# Guide\n\n## open_yard\n\nText.\n")
    found = edges(OPEN, heading, page("b", "# B\n\n`open_yard`\n"))
    assert ("b", "open_yard") in found
    assert ("b", "guide") not in found


def test_examples_and_rules_use_names_and_define_none() -> None:
    example = page(
        "shown", "def open_yard():\n    free_float()\n", kind=Kind.EXAMPLE, language="python", file="examples/shown.py"
    )
    assert defined_terms(example) == ()
    found = edges(page("free_float", "# free_float\n\nText.\n"), example, page("b", "# B\n\n`open_yard` of shown.\n"))
    assert found == {("shown", "free_float"): (0.97, "free_float")}


def test_what_an_example_defines_for_itself_is_not_the_librarys() -> None:
    card = page("kernel", "Another way.\n", symbols=("pl.kernel",))
    own = page("e", "def kernel(x_ref):\n    pass\n\n\ncall(kernel)\n", kind=Kind.EXAMPLE, language="python")
    theirs = page("f", "pl.kernel(body)\n", kind=Kind.EXAMPLE, language="python")
    assert set(edges(card, own, theirs)) == {("f", "kernel")}


def test_imports_and_builtins_are_not_leaned_on() -> None:
    brine = page("brine", "# brine\n\nText.\n")
    assert edges(brine, page("b", "# B\n\n```python\nfrom brine import open_yard\nimport brine\n```\n")) == {}
    assert ("b", "open_yard") in edges(OPEN, page("b", "# B\n\n```python\nfrom brine import open_yard\n```\n"))
    path = page("p", "# Path\n\nText.\n")
    assert edges(path, page("b", "# B\n\n```python\nprint(len(str(x)))\n```\n")) == {}


def test_a_parameter_in_a_table_is_not_defined() -> None:
    terms = defined_terms(page("p", "# paint\n\n| name | meaning |\n| --- | --- |\n| `coats` | how many |\n"))
    assert "coats" not in terms
    assert "paint" in terms


def test_headings_inside_code_are_code() -> None:
    terms = read_terms(page("p", "# P1\n\n```\n# secret_name\n```\n\n~~~\n## other_name\n"))
    assert "secret_name" not in terms.defines
    assert {"secret_name", "other_name"} <= set(terms.mentions)


def test_mentions_are_names_without_own_ones() -> None:
    document = page("p", "# paint_fence\n\nAs `paint_fence` and `open_yard` say.\n")
    assert "open_yard" in mentioned_terms(document)
    assert "paint_fence" not in mentioned_terms(document)


def test_edges_are_sorted_and_do_not_depend_on_the_order_of_documents(brine: Path) -> None:
    documents = load_corpus([Layer("brine", brine)]).documents
    forward = resolve(documents)
    assert forward == sorted(forward, key=lambda e: (e.source, e.target))
    assert len({(e.source, e.target) for e in forward}) == len(forward)
    backward = resolve(documents[::-1])
    last = len(documents) - 1
    turned = [Edge(last - e.source, last - e.target, e.weight, e.term) for e in backward]
    assert sorted(turned, key=lambda e: (e.source, e.target)) == forward


def test_the_edges_of_a_small_documentation(brine: Path) -> None:
    documents = load_corpus([Layer("brine", brine)]).documents
    names = [d.id.rpartition("/")[2] for d in documents]
    strong = {(names[e.source], names[e.target]) for e in resolve(documents) if e.weight >= 0.4}
    assert strong == {
        ("read_level", "open_yard"),
        ("read_level", "errors"),
        ("read_level", "dollops"),
        ("errors", "free_float"),
        ("free_float", "open_yard"),
    }
    assert "paint_fence" not in {name for pair in strong for name in pair}


@pytest.mark.parametrize(
    "line", ["[a" * 30_000, "[ " * 30_000, "`" * 60_000, "| " * 30_000, "**" * 30_000, "f(" * 30_000, "aB" * 30_000]
)
def test_long_lines_are_read_in_linear_time(line: str) -> None:
    for body in (f"# T\n\n{line}\n", f"# T\n\n```\n{line}\n```\n", f"# T\n\n- {line}\n"):
        assert "T" not in read_terms(page("p", body)).mentions


def test_odd_texts_are_read() -> None:
    for body in ("", "\n", "```", "# ", "#", "[](", "|", "\ud800 \x00", "# 행렬곱\n\n행렬곱 유닛\n"):
        assert resolve([page("p", body), page("q", body)]) is not None
    assert resolve([]) == []
