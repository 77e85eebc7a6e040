"""The structure of a Markdown text: headings, fenced code, paragraphs. Line by line, without rendering anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_FENCE = re.compile(r"^([ ]*)(?:(?:[-*+]|\d{1,9}[.)])[ ]+)*(`{3,}|~{3,})([^\n]*)$")
_ATX = re.compile(r"^ {0,3}(#{1,6})(?=[ \t]|$)")
_CLOSING_HASHES = re.compile(r"[ \t]#+[ \t]*$")
_COMMENT = re.compile(r"^ {0,3}<!--")
_HEADING_CHARS = 300
_SETEXT = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_NOT_PARAGRAPH = re.compile(r"^(?: {4}|\t| {0,3}(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]|\|))")
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
# Double underscores stay: in these texts they are names (`__init__`) more often than emphasis.
_MARKUP = re.compile(r"`+|\*\*|<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Block:
    """A run of lines that belong together.

    Attributes:
        text: The lines, joined, without a line break at the end.
        level: 1 to 6 for a heading, else 0.
        heading: The heading's plain text, else "".
        fenced: Whether it is one fenced code block.
        line: Number of its first line, from 0.
    """

    text: str
    level: int = 0
    heading: str = ""
    fenced: bool = False
    line: int = 0


def plain(text: str) -> str:
    """Return a heading's text without links, code marks, emphasis and tags, on one line."""
    return " ".join(_MARKUP.sub("", _LINK.sub(r"\1", text)).split())


def fence_for(code: str) -> str:
    """Return a backtick fence longer than any run of backticks in `code`."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall("`+", code)), default=0))


def closing_fence(text: str) -> str | None:
    """Return the line that closes the fence left open at the end of `text`, or None if none is open."""
    lines = text.split("\n")
    fences = _Fences(lines)
    at = 0
    while at < len(lines):
        fence = fences.at(at)
        if fence is not None and fence.open_ended:
            return fence.char * fence.length
        at = at + 1 if fence is None else fence.stop
    return None


def blocks(text: str) -> list[Block]:
    """Split Markdown into headings, fenced code blocks and paragraphs; blank lines are left out.

    A paragraph ends at a blank line. A fence counts at any indentation and behind a list marker; one that is never
    closed runs to the end of the text, unless it is indented by four or more, where it is plain text. Lines inside
    an HTML comment are never headings. Joining all texts with line breaks keeps every line that is not blank.
    """
    return list(_blocks(text.split("\n")))


def first_heading(text: str) -> str:
    """Return the plain text of the first heading that has any, or ""."""
    return next((block.heading for block in _blocks(text.split("\n")) if block.heading), "")


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    fences = _Fences(lines)
    at, start, comments = 0, 0, True

    def paragraph(stop: int) -> Iterator[Block]:
        if start < stop:
            yield Block("\n".join(lines[start:stop]), line=start)

    while at < len(lines):
        line = lines[at]
        if comments and _COMMENT.match(line):
            end = next((n for n in range(at, len(lines)) if "-->" in lines[n]), None)
            comments = end is not None
            if end is not None:
                yield from paragraph(at)
                yield Block("\n".join(lines[at : end + 1]), line=at)
                at = start = end + 1
                continue
        if fence := fences.at(at):
            yield from paragraph(at)
            yield Block("\n".join(lines[at : fence.stop]).rstrip("\n"), fenced=True, line=at)
            at = start = fence.stop
        elif not line.strip():
            yield from paragraph(at)
            at = start = at + 1
        elif atx := _ATX.match(line):
            yield from paragraph(at)
            yield Block(line, len(atx[1]), plain(_CLOSING_HASHES.sub("", line[atx.end() :][:_HEADING_CHARS])), line=at)
            at = start = at + 1
        elif start < at and _SETEXT.match(line) and not any(map(_NOT_PARAGRAPH.match, lines[start:at])):
            level = 1 if line.strip()[0] == "=" else 2
            heading = plain(" ".join(lines[start:at])[:_HEADING_CHARS])
            yield Block("\n".join(lines[start : at + 1]), level, heading, line=start)
            at = start = at + 1
        else:
            at += 1
    yield from paragraph(len(lines))


@dataclass(frozen=True, slots=True)
class _Fence:
    char: str
    length: int
    stop: int
    open_ended: bool


class _Fences:
    """Finds fenced code; remembers which fences nothing closes, so that a text full of them stays linear."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._unclosed: dict[str, int] = {}

    def at(self, number: int) -> _Fence | None:
        """Return the fence that opens on this line, or None."""
        line = self._lines[number]
        if "```" not in line and "~~~" not in line:
            return None
        match = _FENCE.match(line.expandtabs(4))
        if match is None or (match[2][0] == "`" and "`" in match[3]):
            return None
        char, length = match[2][0], len(match[2])
        end = self._end(number, char, length)
        if end is not None:
            return _Fence(char, length, end + 1, False)
        return _Fence(char, length, len(self._lines), True) if len(match[1]) < 4 else None

    def _end(self, opening: int, char: str, length: int) -> int | None:
        if length >= self._unclosed.get(char, length + 1):
            return None
        for number in range(opening + 1, len(self._lines)):
            text = self._lines[number].strip()
            if len(text) >= length and not text.strip(char):
                return number
        self._unclosed[char] = length
        return None
