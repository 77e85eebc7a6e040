from __future__ import annotations

import pytest

from ragctx.corpus import Document, Kind
from ragctx.corpus.aside import aside_words

TESTING = ("test", "tests", "testing", "pytest", "unittest", "fake", "mock", "fixture")


def words(file: str | None, **fields: object) -> tuple[str, ...]:
    document = Document("api/x", Kind.API, "X", "# X\n", file=file)
    return aside_words(Document(**{**{f: getattr(document, f) for f in document.__slots__}, **fields}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("CHANGELOG.md", ("changelog",)),
        ("docs/change-log.md", ("change", "log")),
        ("team/contacts.md", ("team", "contacts")),
        ("guides/deprecated-calls.md", ("deprecated",)),
        ("migration/from-3-to-4.md", ("migration",)),
        ("code_of_conduct.md", ("code", "of", "conduct")),
        ("index.md", ("index",)),
        ("testing/fake_cave.md", TESTING),
        ("style-guide.md", ("style", "guide")),
        ("whats-new.md", ("whats", "new")),
        ("docs/installing.md", ("installing",)),
    ],
)
def test_pages_beside_the_api_and_the_words_that_ask_for_them(file: str, expected: tuple[str, ...]) -> None:
    assert words(file) == expected


@pytest.mark.parametrize(
    "file",
    [
        "reference/open_yard.md",
        "latest.md",
        "newsletter.md",
        "indexes.md",
        "contest/level.md",
        "exchanges.md",
        "teammates.md",
        "guides/rewriting.md",
        None,
    ],
)
def test_other_pages_are_of_the_api(file: str | None) -> None:
    assert words(file) == ()


def test_only_pages_without_symbols_of_their_own() -> None:
    assert words("changes.md", symbols=("acme.changes",)) == ()
    for kind in (Kind.EXAMPLE, Kind.RULE, Kind.HARDWARE):
        assert words("changes.md", kind=kind) == ()
