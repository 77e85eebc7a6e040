"""Documents and chunks as lines of JSON, and back; fields at their default are left out."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from ragctx.corpus.document import Chunk, Document, Kind, Renamed

_Value = TypeVar("_Value", Document, Chunk)


def encode(value: Document | Chunk) -> bytes:
    """Return a document or a chunk as one line without its line break; equal values give equal bytes."""
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        content = getattr(value, field.name)
        if content != _default(field):
            fields[field.name] = _plain(content)
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    # Documents of any origin are stored as they are, lone surrogates included.
    return text.encode("utf-8", "surrogatepass")


def decode_document(line: bytes) -> Document:
    """Return the document of a line.

    Raises:
        ValueError: If the line is not one that `encode` wrote.
    """
    return _decode(line, Document)


def decode_chunk(line: bytes) -> Chunk:
    """Return the chunk of a line.

    Raises:
        ValueError: If the line is not one that `encode` wrote.
    """
    return _decode(line, Chunk)


def _decode(line: bytes, kind: type[_Value]) -> _Value:
    try:
        fields = json.loads(line)
        for name, content in fields.items():
            if isinstance(content, list):
                fields[name] = tuple(content)
        fields["kind"] = Kind(fields["kind"])
        if "was" in fields:
            fields["was"] = tuple(Renamed(**old) for old in fields["was"])
        return kind(**fields)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _plain(content: Any) -> Any:
    if isinstance(content, Renamed):
        return {"name": content.name, "until": content.until}
    if isinstance(content, Mapping):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, (tuple, list)):
        return [_plain(item) for item in content]
    return content
