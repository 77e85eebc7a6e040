"""Which documents address an error text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ragctx.corpus.document import Document
from ragctx.corpus.patterns import PatternError, compile_pattern
from ragctx.errors import RagctxError

END_CHARS = 20_000
"""How much of an error text is looked at from each of its ends."""

_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def matching(documents: Iterable[Document], error_text: str) -> list[Document]:
    """Return the documents whose triggers match an error text, the most specific first.

    A document is as specific as the most literal characters that one of its matching triggers demands; ties go to
    the smaller id. Of a long text only the first and the last 20,000 characters count; terminal colours do not.

    Raises:
        RagctxError: If a trigger is not a usable regular expression.
    """
    text = _TERMINAL_CODES.sub("", _ends(error_text))
    found: list[tuple[int, str, Document]] = []
    for document in documents:
        best = max((_literal_chars(document, trigger, text) for trigger in document.triggers), default=-1)
        if best >= 0:
            found.append((-best, document.id, document))
    return [document for _, _, document in sorted(found, key=lambda entry: entry[:2])]


def _ends(text: str) -> str:
    return text if len(text) <= 2 * END_CHARS else f"{text[:END_CHARS]}\n{text[-END_CHARS:]}"


def _literal_chars(document: Document, trigger: str, text: str) -> int:
    """Return how many literal characters of the trigger match, or -1 where it does not."""
    try:
        pattern = compile_pattern(trigger)
    except PatternError as error:
        raise RagctxError(f"trigger '{trigger}': {error}", where=document.id, remedy="correct the trigger") from None
    return pattern.literal_chars if pattern.search(text) else -1
