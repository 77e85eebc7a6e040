"""Cutting documents into chunks: at headings first, then between paragraphs, never inside a code block."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragctx.corpus.document import REFERENCE_HEADING, Chunk, Document
from ragctx.corpus.markdown import Block, blocks, fence_for
from ragctx.tokens import TokenCounter

TARGET_TOKENS = 400
"""Neighbouring sections are merged up to this size."""
MAX_TOKENS = 600
"""Nothing but a single code block makes a longer chunk of Markdown."""
MIN_TOKENS = 60
"""A shorter chunk joins a neighbour that has room."""
WHOLE_PYTHON_TOKENS = 1_500
"""A Python example up to this size stays whole: half a kernel teaches little."""
PYTHON_PART_TOKENS = 800
"""The size up to which a longer example's top-level definitions are packed together."""


@dataclass(frozen=True, slots=True)
class _Atom:
    """What is never cut again: some headings and a paragraph or code block.

    Attributes:
        text: The lines; may begin with spaces.
        tokens: Their cl100k tokens.
        path: The headings above, outermost first.
        glue: What stands between this and the atom before it.
        section: Number of its section; a section begins at a heading.
    """

    text: str
    tokens: int
    path: tuple[str, ...]
    glue: str
    section: int


def chunk_document(document: Document, counter: TokenCounter) -> tuple[Chunk, ...]:
    """Cut a document into chunks, in order; a document without text has none.

    Markdown of up to 600 tokens is one chunk. Otherwise small neighbouring sections are merged up to 400 tokens, and
    sections over 600 are cut between paragraphs (between lines, where one paragraph is that long). Python is one
    fenced chunk up to 1,500 tokens, else cut between top-level definitions. No line's visible text is lost.

    Args:
        document: What to cut.
        counter: Counts tokens; it remembers what it has seen, so one for a whole corpus serves best.
    """
    if not document.body.strip():
        return ()
    if document.language == "python":
        pieces = [_Piece(_fenced(part), ()) for part in _python_parts(document.body, counter)]
    else:
        atoms = list(_atoms(document, counter))
        # A card and the generated reference below it are chosen each for itself.
        card = next((i for i, atom in enumerate(atoms) if atom.text.startswith(REFERENCE_HEADING)), len(atoms))
        groups = [group for part in (atoms[:card], atoms[card:]) if part for group in _pack(part)]
        pieces = [_Piece(_text(group), group[0].path) for group in groups]
    tags = tuple(dict.fromkeys((*document.tags, *document.primitives)))
    return tuple(
        Chunk(
            id=f"{document.id}#{number:03d}",
            document=document.id,
            kind=document.kind,
            title=document.title,
            heading=piece.heading,
            text=piece.text,
            symbols=document.symbols,
            tags=tags,
            targets=document.targets,
            always=document.always,
            tokens=counter.count(piece.text),
        )
        for number, piece in enumerate(pieces)
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    heading: tuple[str, ...]


def _text(atoms: Sequence[_Atom]) -> str:
    """Return the chunk's text: starts with something visible, ends with one line break."""
    text = atoms[0].text + "".join(atom.glue + atom.text for atom in atoms[1:])
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    if indent:
        # All lines move together, or a fence would lose the line that closes it.
        text = "\n".join(line.removeprefix(indent) for line in text.split("\n"))
    return text.strip() + "\n"


def _atoms(document: Document, counter: TokenCounter) -> Iterator[_Atom]:
    """Yield the document's atoms; a heading stays with what it is the heading of."""
    above: list[Block] = []
    waiting: list[Block] = []
    section, end = 0, -1

    def path(stack: Sequence[Block]) -> tuple[str, ...]:
        return tuple(
            block.heading
            for block in stack
            if block.heading and not (block.level == 1 and block.heading == document.title)
        )

    for block in blocks(document.body):
        if block.level:
            if not waiting:
                section += 1
            waiting.append(block)
            continue
        heading_text = "".join(f"{heading.text}\n\n" for heading in waiting)
        first = waiting[0] if waiting else block
        glue = "\n" if first.line == end else "\n\n"
        above_first = path(_enter(above, waiting[:1])[:-1]) if waiting else path(above)
        above = _enter(above, waiting)
        for number, part in enumerate(_parts(block, counter)):
            text = heading_text + part if number == 0 else part
            yield _Atom(
                text,
                counter.count(text + "\n"),
                above_first if number == 0 else path(above),
                glue if number == 0 else "\n",
                section,
            )
        waiting, end = [], block.line + block.text.count("\n") + 1
    if waiting:
        text = "\n\n".join(heading.text for heading in waiting)
        yield _Atom(text, counter.count(text + "\n"), path(_enter(above, waiting[:1])[:-1]), "\n\n", section)


def _enter(above: Sequence[Block], headings: Sequence[Block]) -> list[Block]:
    """Return the headings in force after some more of them."""
    stack = list(above)
    for heading in headings:
        while stack and stack[-1].level >= heading.level:
            stack.pop()
        stack.append(heading)
    return stack


def _parts(block: Block, counter: TokenCounter) -> Iterator[str]:
    """Cut a paragraph that is longer than a chunk between its lines, and a line that is, between its words."""
    if block.fenced or counter.count(block.text + "\n") <= MAX_TOKENS:
        yield block.text
        return
    part: list[str] = []
    tokens = 0
    for line in block.text.split("\n"):
        for piece in _pieces(line, counter):
            count = counter.count(piece + "\n")
            if part and tokens + count > MAX_TOKENS:
                yield "\n".join(part)
                part, tokens = [], 0
            part.append(piece)
            tokens += count
    yield "\n".join(part)


def _pieces(line: str, counter: TokenCounter) -> Iterator[str]:
    rest = line
    # A token is four characters of English, and of some scripts less than one.
    chars = MAX_TOKENS * 4
    while len(rest) > 10 * chars or counter.count(rest) > MAX_TOKENS:
        size = chars
        while size > 100 and counter.count(rest[:size]) > MAX_TOKENS:
            size = size * 3 // 4
        space = rest.rfind(" ", size // 2, size) + 1
        size = space or size
        yield rest[:size].rstrip(" ")
        rest = rest[size:].lstrip(" ")
    yield rest


def _pack(atoms: Sequence[_Atom]) -> list[list[_Atom]]:
    """Group atoms into chunks."""
    if _tokens(atoms) <= MAX_TOKENS:
        return [list(atoms)]
    groups: list[list[_Atom]] = []
    is_open = False
    for section in _sections(atoms):
        size = _tokens(section)
        if size > MAX_TOKENS:
            groups += _split_section(section, size)
            is_open = False
        elif is_open and _tokens(groups[-1]) + size <= TARGET_TOKENS:
            groups[-1] += section
        else:
            groups.append(list(section))
            is_open = True
    return _join_small(groups)


def _tokens(atoms: Sequence[_Atom]) -> int:
    return sum(atom.tokens for atom in atoms)


def _sections(atoms: Sequence[_Atom]) -> Iterator[list[_Atom]]:
    section: list[_Atom] = []
    for atom in atoms:
        if section and atom.section != section[0].section:
            yield section
            section = []
        section.append(atom)
    if section:
        yield section


def _split_section(section: Sequence[_Atom], size: int) -> list[list[_Atom]]:
    """Cut a long section into parts of about equal size, none over the maximum if no single atom is."""
    limit = min(MAX_TOKENS, int(1.15 * size / math.ceil(size / MAX_TOKENS)))
    groups: list[list[_Atom]] = []
    tokens = 0
    for atom in section:
        if not groups or tokens + atom.tokens > limit:
            groups.append([])
            tokens = 0
        groups[-1].append(atom)
        tokens += atom.tokens
    return groups


def _join_small(groups: Sequence[list[_Atom]]) -> list[list[_Atom]]:
    """Let a tiny chunk join the one before it, or the one after, where there is room."""
    joined: list[list[_Atom]] = []
    for group in groups:
        small = joined and min(_tokens(group), _tokens(joined[-1])) < MIN_TOKENS
        if small and _tokens(group) + _tokens(joined[-1]) <= MAX_TOKENS:
            joined[-1] = joined[-1] + group
        else:
            joined.append(group)
    return joined


def _fenced(code: str) -> str:
    fence = fence_for(code)
    return f"{fence}python\n{code}\n{fence}\n"


def _python_parts(source: str, counter: TokenCounter) -> list[str]:
    """Return the source whole if it is short or does not parse, else in parts of whole top-level statements."""
    whole = source.strip("\n").rstrip()
    if counter.count(_fenced(whole)) <= WHOLE_PYTHON_TOKENS:
        return [whole]
    parts: list[str] = []
    tokens = 0
    for statement in _statements(whole):
        count = counter.count(statement)
        if not parts or tokens + count > PYTHON_PART_TOKENS:
            parts.append("")
            tokens = 0
        parts[-1] += statement
        tokens += count
    return [part.strip("\n").rstrip() for part in parts if part.strip()]


def _statements(source: str) -> list[str]:
    """Return the source's top-level statements, each with the comments before it; joined they are the source."""
    lines = [f"{line}\n" for line in source.split("\n")]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ["".join(lines)]
    ends = sorted({node.end_lineno or node.lineno for node in body}) or [len(lines)]
    starts = [0, *ends[:-1]]
    ends[-1] = len(lines)
    return ["".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]
