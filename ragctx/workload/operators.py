"""Operator words (attention, rmsnorm, matmul...) recognised in names and plain words."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from ragctx import data
from ragctx.errors import RagctxError
from ragctx.files import read_text

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)*")
# The list of words of one group. Every prefix needs the words, and a YAML parser is a tenth of what it may take.
_GROUP = re.compile(r"^    words: \[([^\]]*)\]", re.MULTILINE)
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@functools.cache
def shipped_words() -> tuple[str, ...]:
    """Return the words of the shipped corpus's synonyms.yaml, sorted; none if it has no such file.

    Raises:
        RagctxError: If the file is there and is not what it should be.
    """
    try:
        path = data.corpus() / "synonyms.yaml"
    except RagctxError:
        return ()
    if not path.is_file():
        return ()
    lists = _GROUP.findall(read_text(path))
    words = {" ".join(word.split()) for found in lists for word in found.split(",")} - {""}
    if not words:
        raise RagctxError(
            "does not list groups with words", where=str(path), remedy="restore the file or reinstall ragctx"
        )
    return tuple(sorted(words))


def recognise(texts: Iterable[str], words: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the operator words that occur in the texts, sorted.

    A word is found whatever its case, in the parts of a name (`Mamba2_SSD` holds `mamba`, `mamba2` and `ssd`), in the
    plural, and, if it is several words or joined by `_` or `-`, as consecutive parts (`RMSNorm` holds `rms_norm`).

    Args:
        texts: Names, docstrings, comments.
        words: Operator words to look for; the shipped ones by default.
    """
    wanted = shipped_words() if words is None else words
    seen: set[str] = set()
    runs: list[str] = []
    for text in texts:
        parts = [part for word in _WORD.findall(text) for part in _parts(word, seen)]
        runs.append(" " + " ".join(_singular(part) for part in parts) + " ")
    return tuple(sorted({word for word in wanted if _occurs(word, seen, runs)}))


def _parts(word: str, seen: set[str]) -> list[str]:
    """Return a name's parts in lower case; note the parts, the pieces between `_`, and the whole in `seen`."""
    pieces = [piece for piece in word.split("_") if piece]
    parts = [part.lower() for piece in pieces for part in _PART.findall(piece)]
    seen.update(_singular(name.lower()) for name in (*parts, *pieces, "".join(pieces)))
    return parts


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _occurs(word: str, seen: set[str], runs: list[str]) -> bool:
    lowered = word.lower()
    if _singular(lowered) in seen:
        return True
    sequence = [_singular(part.lower()) for part in _PART.findall(word)]
    return len(sequence) > 1 and any(f" {' '.join(sequence)} " in run for run in runs)
