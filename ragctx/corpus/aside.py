"""Pages beside the API: change logs, contacts, history, test helpers. A coding task needs one only if it says so."""

from __future__ import annotations

import re

from ragctx.corpus.document import Document, Kind

_PROJECT = (
    r"change[-_]?logs?|changes|release[-_]?notes?|releases|history|news|whats[-_]?new|contacts?|teams?|people|about|authors"
    r"|contribut\w*|code[-_]?of[-_]?conduct|licen[cs]es?|roadmap|decisions?|adrs?|style(?:[-_]?guide)?|writing|faq|index|readme"
    r"|glossary|migrat\w*|upgrad\w*|deprecat\w*|install\w*|architecture|overview|review\w*|naming|sitemap|toc|todo"
    r"|meetings?"
)
_TESTING = r"tests?|testing|fakes?|mocks?|fixtures?"
_ASIDE = re.compile(rf"(?:^|[/\-_ .])(?:({_PROJECT})|({_TESTING}))(?=[/\-_ .]|$)", re.IGNORECASE)
_TEST_WORDS = ("test", "tests", "testing", "pytest", "unittest", "fake", "mock", "fixture")


def aside_words(document: Document) -> tuple[str, ...]:
    """Return the words by which a task would ask for a page beside the API; empty for every other document.

    The page's path tells: `guides/deprecated-calls.md` is asked for by "deprecated", `team/contacts.md` by "team" or
    "contacts", a page under `testing/` by any word on testing.
    """
    if document.kind is not Kind.API or document.file is None or document.symbols:
        return ()
    found: list[str] = []
    for project, testing in _ASIDE.findall(document.file):
        found += _TEST_WORDS if testing else re.split(r"[-_]", project.lower())
    return tuple(dict.fromkeys(found))
