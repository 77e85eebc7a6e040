"""What shapes a prefix besides the corpus and the workload."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ragctx import targets
from ragctx.corpus import Kind
from ragctx.errors import RagctxError

DEFAULT_BUDGET_TOKENS = 8000
DEFAULT_SUPPLEMENT_TOKENS = 1500

# Reasons of the chunks that stand in every prefix.
OF_TARGET, ALWAYS = "the target's sheet", "always"


class Section(enum.StrEnum):
    """The switchable parts of a prefix, in the order in which they are written."""

    HARDWARE = "hardware"
    RULES = "rules"
    API = "api"
    EXAMPLES = "examples"
    FACTS = "facts"


SECTION_OF_KIND: Mapping[Kind, Section] = {
    Kind.HARDWARE: Section.HARDWARE,
    Kind.RULE: Section.RULES,
    Kind.API: Section.API,
    Kind.EXAMPLE: Section.EXAMPLES,
}

# What each selected section may take of the tokens left after the fixed parts, before others may use the rest.
SHARES: Mapping[Section, float] = {Section.API: 0.45, Section.EXAMPLES: 0.36, Section.RULES: 0.19}


def parse_sections(names: Iterable[str], *, where: str = "--sections") -> tuple[Section, ...]:
    """Return sections in writing order from their names.

    Raises:
        RagctxError: If a name is no section; the message lists those there are.
    """
    chosen = set()
    for name in names:
        try:
            chosen.add(Section(name.strip().lower()))
        except ValueError:
            known = ", ".join(Section)
            raise RagctxError(f"unknown section '{name}'", where=where, remedy=f"use any of: {known}") from None
    return tuple(section for section in Section if section in chosen)


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """Options of a prefix.

    Attributes:
        budget_tokens: cl100k tokens that the whole prefix may take.
        sections: Sections to write, in writing order.
        target: TPU target whose hardware sheet is shown and whose documents are preferred.
        role: Whether the opening part (who is asked to do what, how to read the documents) is written.
        engine: Ranking engine: `bm25s` or the reference `rank-bm25`.
    """

    budget_tokens: int = DEFAULT_BUDGET_TOKENS
    sections: tuple[Section, ...] = tuple(Section)
    target: str = targets.DEFAULT_TARGET
    role: bool = True
    engine: str = "bm25s"

    def __post_init__(self) -> None:
        targets.get(self.target)
        if self.budget_tokens < 1:
            raise RagctxError(f"a budget of {self.budget_tokens} tokens", remedy="give a positive number of tokens")

    @classmethod
    def for_docs(cls, docs: str, **options: Any) -> ContextOptions:
        """Return options for a study's documentation setting.

        Args:
            docs: `on` (everything), `off` (role and facts only), `none` (nothing at all), or section names joined by
                commas.
            **options: The other fields.

        Raises:
            RagctxError: If `docs` names an unknown section.
        """
        if docs == "on":
            return cls(**options)
        if docs == "off":
            return cls(sections=(Section.FACTS,), **options)
        if docs == "none":
            return cls(sections=(), role=False, **options)
        return cls(sections=parse_sections(docs.split(","), where="docs"), **options)


@dataclass(frozen=True, slots=True)
class Context:
    """A rendered text and the manifest that accounts for it.

    Attributes:
        text: The prefix or supplement, ending with one line break; empty where there is nothing to say.
        manifest: JSON-serialisable account: every chunk with section, score, tokens and reason, and the digests.
    """

    text: str
    manifest: Mapping[str, Any] = field(repr=False)

    @property
    def selected(self) -> bool:
        """Return whether anything was selected for the query, besides what stands in every prefix of a target."""
        return any(entry["reason"] not in (OF_TARGET, ALWAYS) for entry in self.manifest["chunks"])

    @property
    def tokens(self) -> int:
        """Return the exact number of cl100k tokens of the text."""
        return int(self.manifest["tokens"])
