"""Pages about a project rather than its API: change logs, contacts, history. A coding task rarely needs one."""

from __future__ import annotations

import re

from ragctx.corpus.document import Document, Kind

_ASIDE = re.compile(
    r"(?:^|[/\-_ .])(?:change-?logs?|changes|release-?notes?|releases|history|news|whats-?new|contacts?|teams?|people"
    r"|about|authors|contribut\w*|code-?of-?conduct|licen[cs]es?|roadmap|decisions?|adrs?|style(?:-?guide)?|writing"
    r"|faq|index|readme|glossary|migrat\w*|upgrad\w*|deprecat\w*|install\w*|architecture|overview|review\w*|naming"
    r"|sitemap|toc|todo|meetings?|minutes-of\w*)(?=[/\-_ .]|$)",
    re.IGNORECASE,
)


def is_aside(document: Document) -> bool:
    """Return whether a plain page's path says that it is about the project rather than its API."""
    if document.kind is not Kind.API or document.file is None or document.symbols:
        return False
    return _ASIDE.search(document.file) is not None
