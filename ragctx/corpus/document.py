"""Documents and chunks: what ragctx knows, as immutable values."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Kind(enum.StrEnum):
    """What a document is; the first part of its id."""

    HARDWARE = "hardware"
    API = "api"
    EXAMPLE = "example"
    RULE = "rule"


KIND_FOLDERS: Mapping[str, Kind] = {
    "hardware": Kind.HARDWARE,
    "api": Kind.API,
    "examples": Kind.EXAMPLE,
    "rules": Kind.RULE,
}


GENERATED_LAYER = "installed"
"""The layer that documents read from installed packages say they are from."""

REFERENCE_HEADING = "## Reference"
"""Begins the heading under which a curated card carries the generated reference of its symbol."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """A name something had before, and the first version that lacks it (None if unknown)."""

    name: str
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One file of a corpus, or one symbol read from an installed package.

    Attributes:
        id: `kind/slug`; for symbols the slug is the usual alias (`api/pl.BlockSpec`).
        kind: What it is.
        title: One line.
        body: Markdown without its front matter, or Python source without the front matter's docstring.
        language: "markdown" or "python".
        tags: Free words that help a query find it.
        primitives: JAX primitives it is about.
        symbols: API names it defines, by their usual alias.
        targets: TPU targets it is for; empty means all.
        requires: Version specifiers by distribution name; outside them the document is left out of an index.
        triggers: Regular expressions on an error text that this document addresses.
        always: Whether it stands in every prefix.
        related: Document ids that come along with it.
        was: Earlier names of its symbols.
        raises: The file beside a rule that raises its error, or None.
        source: Where its facts are from, or None.
        verified: Versions a machine verified it with, by distribution name.
        defines: Names and terms a reader learns here (front matter, headings, signatures); sorted.
        mentions: Names and terms that it uses; sorted. Resolved against other documents' `defines` at build time.
        layer: Name of the corpus layer it came from.
        file: Path relative to the layer's folder with `/`, or None for generated documents.
    """

    id: str
    kind: Kind
    title: str
    body: str
    language: str = "markdown"
    tags: tuple[str, ...] = ()
    primitives: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    requires: Mapping[str, str] = field(default_factory=dict)
    triggers: tuple[str, ...] = ()
    always: bool = False
    related: tuple[str, ...] = ()
    was: tuple[Renamed, ...] = ()
    raises: str | None = None
    source: str | None = None
    verified: Mapping[str, str] = field(default_factory=dict)
    defines: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    layer: str = ""
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit that is indexed and selected.

    Attributes:
        id: `<document id>#<000>`.
        document: The document's id.
        kind: The document's kind.
        title: The document's title.
        heading: The headings above this chunk below the title, outermost first.
        text: The chunk's Markdown (Python source is fenced); starts with a visible character and ends with one line
            break; never cut inside a code block.
        symbols: The document's symbols.
        tags: The document's tags, primitives and operator words.
        targets: The document's targets.
        always: Whether the document stands in every prefix.
        tokens: cl100k tokens of `text`.
    """

    id: str
    document: str
    kind: Kind
    title: str
    heading: tuple[str, ...]
    text: str
    symbols: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    always: bool = False
    tokens: int = 0

    @property
    def is_reference(self) -> bool:
        """Return whether this chunk is of the generated reference below a curated card."""
        top = REFERENCE_HEADING.removeprefix("## ")
        return self.text.startswith(REFERENCE_HEADING) or any(part.startswith(f"{top} (") for part in self.heading)
