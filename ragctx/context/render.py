"""Rendering through templates: document text goes in as data and is never template source.

The templates are small and each renders one block (the role, a section's heading, a document, the facts, the
supplement's heading). Blocks are joined here, because their order is part of the prefix's contract, and because
token counts add up exactly over blocks that end with a line break (see `ragctx.tokens`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ragctx import data
from ragctx.errors import RagctxError
from ragctx.files import read_text

BLOCKS = ("role", "section", "document", "facts", "supplement")


class Renderer:
    """Renders blocks from a folder of `<block>.md.j2` files; blocks a folder lacks come from the shipped one.

    Args:
        folder: Templates laid over the shipped ones, or None.

    Raises:
        RagctxError: If the folder holds no template, or one does not parse; the message names file and line.
    """

    def __init__(self, folder: Path | None = None) -> None:
        # Text goes into prompts, not into HTML: escaping would corrupt code. Values are inert: never parsed.
        self._environment = ImmutableSandboxedEnvironment(
            undefined=jinja2.StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self._environment.filters.update(shape=_shape, size=_size, si=_si)
        self._templates: dict[str, jinja2.Template] = {}
        self._places: dict[str, str] = {}
        digest = hashlib.sha256()
        if folder is not None and not any((folder / f"{block}.md.j2").is_file() for block in BLOCKS):
            raise RagctxError(
                "no template in this folder", where=str(folder), remedy=f"put one of {', '.join(BLOCKS)} .md.j2 there"
            )
        for block in BLOCKS:
            path = data.templates() / f"{block}.md.j2"
            if folder is not None and (folder / path.name).is_file():
                path = folder / path.name
            source = read_text(path, what="template")
            digest.update(f"{block}\0{source}\0".encode())
            self._places[block] = str(path)
            self._templates[block] = self._compile(block, source)
        self.digest = digest.hexdigest()[:16]

    def _compile(self, block: str, source: str) -> jinja2.Template:
        try:
            return self._environment.from_string(source)
        except jinja2.TemplateSyntaxError as error:
            raise RagctxError(
                f"the template does not parse: {error.message}", where=f"{self._places[block]}:{error.lineno}"
            ) from None

    def render(self, block: str, values: Mapping[str, Any]) -> str:
        """Return a block's text, ending with one blank line, or "" if it renders to nothing.

        Raises:
            RagctxError: If the template uses an unknown variable or does what the sandbox forbids.
        """
        try:
            text = self._templates[block].render(values)
        except jinja2.UndefinedError as error:
            raise RagctxError(
                f"unknown variable: {error.message}",
                where=self._places[block],
                remedy=f"a {block} template may use: {', '.join(sorted(values))}",
            ) from None
        except jinja2.TemplateError as error:
            raise RagctxError(f"the template fails: {error.message}", where=self._places[block]) from None
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise RagctxError(
                f"the template fails: {type(error).__name__}: {error}", where=self._places[block]
            ) from None
        text = text.strip("\n")
        return f"{text}\n\n" if text.strip() else ""


def _shape(dimensions: Iterable[int]) -> str:
    return str(tuple(dimensions))


def _size(count: int) -> str:
    """Return a number of bytes in binary units, three digits."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"


def _si(value: float) -> str:
    """Return a number with an SI prefix, three digits, ending before the unit's name."""
    for prefix in ("", "k", "M", "G", "T"):
        if value < 1000:
            return f"{value:.3g} {prefix}"
        value /= 1000
    return f"{value:.3g} P"


def join(blocks: list[str]) -> str:
    """Return blocks as one text that ends with one line break."""
    text = "".join(blocks).rstrip("\n")
    return f"{text}\n" if text else ""
