from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragctx.context.library import Library
from ragctx.corpus import Document, Kind
from ragctx.index import Index, build_index

DOCUMENTS = (
    Document(
        "api/pl.load", Kind.API, "pl.load", "# pl.load\n\nReads a tile. A tile is a tile.\n", symbols=("pl.load",)
    ),
    Document("api/changes", Kind.API, "Changes", "# Changes\n\nTile sizes changed.\n", file="changes.md"),
    Document("example/tiles", Kind.EXAMPLE, "Tiles", "pl.load(tile)\n", language="python"),
    Document("hardware/v4", Kind.HARDWARE, "v4", "# v4\n\nOld.\n", targets=("v4",)),
    Document("hardware/v6e", Kind.HARDWARE, "v6e", "# v6e\n\nNew.\n", targets=("v6e",)),
    Document("rule/exact", Kind.RULE, "Exact", "# Exact\n\nSay.\n", triggers=("tile .* must be divisible by 8",)),
    Document("rule/loose", Kind.RULE, "Loose", "# Loose\n\nSay.\n", triggers=("tile",), targets=("v6e",), always=True),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return build_index(DOCUMENTS, tmp_path_factory.mktemp("library"))


@pytest.fixture
def library(index: Index) -> Library:
    return Library(index)


def ids(library: Library, numbers: Iterator[int] | tuple[int, ...] | list[int] | frozenset[int]) -> list[str]:
    return [library.document(number).id for number in numbers]


def test_what_every_prefix_asks_for(library: Library) -> None:
    assert ids(library, library.always) == ["rule/loose"]
    assert ids(library, library.hardware) == ["hardware/v4", "hardware/v6e"]
    assert ids(library, library.hardware_for("v4")) == ["hardware/v4"]
    assert library.hardware_for("tpu7x") == ()


def test_kinds_and_how_far_references_reach(library: Library) -> None:
    numbers = range(library.index.documents_count)
    assert [library.kind(number) for number in numbers] == [
        "api",
        "api",
        "example",
        "hardware",
        "hardware",
        "rule",
        "rule",
    ]
    assert [library.reach(number) for number in numbers] == [1.0, 1.0, 0.1, 1.0, 1.0, 0.2, 0.2]


def test_hardware_and_documents_for_other_targets_are_not_selected_by_relevance(library: Library) -> None:
    def selectable(target: str) -> list[str]:
        return ids(library, [n for n in range(library.index.documents_count) if library.selectable(n, target)])

    every = ["api/changes", "api/pl.load", "example/tiles", "rule/exact", "rule/loose"]
    assert selectable("v6e") == every
    assert selectable("v4") == every[:-1]


def test_pages_beside_the_api_unless_the_query_asks_for_them(library: Library) -> None:
    tokens = library.index.query
    assert ids(library, library.aside(tokens("tile sizes"))) == ["api/changes"]
    assert library.aside(tokens("the changes of tile sizes")) == frozenset()


def test_the_most_specific_trigger_comes_first(library: Library) -> None:
    error = "tile of 7 rows must be divisible by 8"
    assert ids(library, library.addressing(error)) == ["rule/exact", "rule/loose"]
    assert ids(library, library.addressing("a tile")) == ["rule/loose"]
    assert library.addressing("nothing of the kind") == []


def test_terms_of_a_document_with_their_frequencies(library: Library) -> None:
    counts = library.term_counts(library.index.document_number("api/pl.load"))
    assert counts["tile"] == 3
    assert "pl.load" in counts


def test_references_of_the_index(library: Library) -> None:
    example, card = (library.index.document_number(i) for i in ("example/tiles", "api/pl.load"))
    targets, weights = library.references.needed_by(example)
    assert card in targets
    assert all(0 < weight <= 1 for weight in weights)
    assert example in library.references.using(card)[0]


def test_what_was_decoded_is_remembered(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    first, chunks = library.document(0), library.chunks(0)
    monkeypatch.setattr(Index, "document_at", None)
    monkeypatch.setattr(Index, "chunk", None)
    assert library.document(0) is first
    assert library.chunks(0) is chunks
