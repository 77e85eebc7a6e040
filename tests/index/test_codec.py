from __future__ import annotations

import pytest

from ragctx.corpus import Chunk, Document, Kind, Renamed
from ragctx.index.codec import decode_chunk, decode_document, encode

FULL = Document(
    id="rule/x",
    kind=Kind.RULE,
    title="제목 \ud800",
    body="line\n\x00{{ }}\u2028",
    language="python",
    tags=("a", "b"),
    primitives=("add",),
    symbols=("pl.X",),
    targets=("v4",),
    requires={"jax": ">=0.7"},
    triggers=(r"\d+",),
    always=True,
    related=("api/y",),
    was=(Renamed("old", "0.5"), Renamed("older")),
    raises="x.raises.py",
    source="https://example.org",
    verified={"jax": "0.10.2"},
    defines=("x",),
    mentions=("y",),
    layer="own",
    file="rules/x.md",
)
CHUNK = Chunk("rule/x#000", "rule/x", Kind.RULE, "t", ("h",), "text\n", ("pl.X",), ("a",), ("v4",), True, 7)


def test_a_document_comes_back_equal() -> None:
    assert decode_document(encode(FULL)) == FULL
    assert decode_document(encode(Document("api/x", Kind.API, "x", ""))) == Document("api/x", Kind.API, "x", "")


def test_a_chunk_comes_back_equal() -> None:
    assert decode_chunk(encode(CHUNK)) == CHUNK


def test_a_line_has_no_line_break_and_no_defaults() -> None:
    assert b"\n" not in encode(FULL)
    assert encode(Document("api/x", Kind.API, "x", "b")) == b'{"body":"b","id":"api/x","kind":"api","title":"x"}'


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[]", b"3", b'"x"', b"{}", b'{"kind": "api"}', b'{"kind": "no", "id": "x", "title": "", "body": ""}',
     b'{"kind": "api", "id": "x", "title": "", "body": "", "more": 1}', b"\xff"],
)  # fmt: skip
def test_another_line_is_a_value_error(line: bytes) -> None:
    with pytest.raises(ValueError):
        decode_document(line)
