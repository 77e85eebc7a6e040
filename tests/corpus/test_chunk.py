from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragctx.corpus import Chunk, Document, Kind, chunk_document
from ragctx.tokens import TokenCounter

COUNTER = TokenCounter()


def _document(body: str, *, language: str = "markdown", title: str = "Title") -> Document:
    return Document(
        id="api/x",
        kind=Kind.API,
        title=title,
        body=body,
        language=language,
        tags=("b", "a"),
        primitives=("a", "dot_general"),
        symbols=("pl.x",),
        targets=("v6e",),
        always=True,
    )


def _chunks(body: str, **options: str) -> tuple[Chunk, ...]:
    return chunk_document(_document(body, **options), COUNTER)


def _words(tokens: int) -> str:
    """Return one paragraph of exactly so many tokens, its line break included."""
    text = " ".join(["word"] * (tokens - 1))
    assert COUNTER.count(text + "\n") == tokens
    return text


def test_a_short_document_is_one_chunk_that_carries_what_the_document_says_of_itself() -> None:
    assert _chunks("# Title\n\nText.\n\n## More\n\nEnd.\n\n\n") == (
        Chunk(
            id="api/x#000",
            document="api/x",
            kind=Kind.API,
            title="Title",
            heading=(),
            text="# Title\n\nText.\n\n## More\n\nEnd.\n",
            symbols=("pl.x",),
            tags=("b", "a", "dot_general"),
            targets=("v6e",),
            always=True,
            tokens=COUNTER.count("# Title\n\nText.\n\n## More\n\nEnd.\n"),
        ),
    )


def test_an_empty_document_has_no_chunks() -> None:
    assert _chunks(" \n\n") == ()


def test_small_sections_merge_and_headings_above_are_kept() -> None:
    body = "\n\n".join(
        [
            "# Title",
            "## A",
            _words(150),
            "### A1",
            _words(150),
            "### A2",
            _words(150),
            "## B",
            _words(150),
            "### B1",
            _words(350),
        ]
    )
    chunks = _chunks(body)
    assert [(chunk.id, chunk.heading, re.findall("^#.*", chunk.text, re.M)) for chunk in chunks] == [
        ("api/x#000", (), ["# Title", "## A", "### A1"]),
        ("api/x#001", ("A",), ["### A2", "## B"]),
        ("api/x#002", ("B",), ["### B1"]),
    ]


def test_a_long_section_is_cut_between_paragraphs_into_like_parts() -> None:
    body = "# Title\n\n## Long\n\n" + "\n\n".join(_words(100) for _ in range(10))
    chunks = _chunks(body)
    assert [chunk.heading for chunk in chunks] == [(), ("Long",)]
    assert [chunk.text.count("\n\n") for chunk in chunks] == [6, 4]
    assert max(chunk.tokens for chunk in chunks) <= 600


def test_a_tiny_section_joins_its_neighbour() -> None:
    chunks = _chunks(f"# Title\n\n{_words(390)}\n\n## Large\n\n{_words(390)}\n\n## See also\n\nThat.\n")
    assert [re.findall("^#.*", chunk.text, re.M) for chunk in chunks] == [["# Title"], ["## Large", "## See also"]]


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("```python", "```"), ("~~~", "~~~"), ("````md\n```", "```\n````"), ("  ```", "  ```"), ("- ```", "      ```")],
)
def test_a_code_block_is_never_cut(opening: str, closing: str) -> None:
    code = opening + "\n" + "\n\n".join(f"# comment {n}\nvalue_{n} = {n}" for n in range(200)) + "\n" + closing
    chunks = _chunks(f"# Title\n\n{_words(300)}\n\n{code}\n\nAfter.\n\n{_words(300)}\n")
    assert [(f"value_{n} =" in chunk.text) for chunk in chunks for n in (0, 199)] == [False, False, True, True] + [
        False
    ] * 2


def test_an_indented_fence_at_the_start_of_a_chunk_still_closes() -> None:
    code = "   ```\n   x = 1\n     y = 2\n   ```"
    chunks = _chunks(f"# Title\n\n{_words(590)}\n\n{code}\n\n{_words(300)}\n")
    assert chunks[1].text.startswith("```\nx = 1\n  y = 2\n```\n\nword")


def test_a_paragraph_longer_than_a_chunk_is_cut_between_lines_then_between_words() -> None:
    table = "\n".join(f"| row {n} | {_words(30)} |" for n in range(60))
    chunks = _chunks(table)
    assert "".join(chunk.text for chunk in chunks) == table + "\n"
    assert max(chunk.tokens for chunk in chunks) <= 600
    words = [f"w{n}" for n in range(5_000)]
    chunks = _chunks(" ".join(words))
    assert " ".join(chunk.text for chunk in chunks).split() == words
    assert max(chunk.tokens for chunk in chunks) <= 600


def test_a_line_without_spaces_is_cut_too() -> None:
    chunks = _chunks("x1" * 50_000)
    assert "".join(chunk.text.strip() for chunk in chunks) == "x1" * 50_000
    assert max(chunk.tokens for chunk in chunks) <= 600


def test_python_is_one_fenced_chunk() -> None:
    (chunk,) = _chunks('"""Doc with ```."""\n\nx = 1\n', language="python")
    assert chunk.text == '````python\n"""Doc with ```."""\n\nx = 1\n````\n'


def test_long_python_is_cut_between_definitions_with_their_comments() -> None:
    functions = [f"# about {n}\n@decorated\ndef function_{n}(x):\n" + "    x = x + 1\n" * 45 for n in range(8)]
    chunks = _chunks("import jax\n\n\n" + "\n\n".join(functions), language="python")
    assert [re.findall(r"# about (\d)", chunk.text) for chunk in chunks] == [
        ["0", "1"],
        ["2", "3"],
        ["4", "5"],
        ["6", "7"],
    ]
    assert all(chunk.text.startswith("```python\n") and chunk.text.endswith("\n```\n") for chunk in chunks)
    for number, function in enumerate(functions):
        assert sum(function.strip() in chunk.text for chunk in chunks) == 1, number


def test_python_that_does_not_parse_stays_whole() -> None:
    (chunk,) = _chunks("def broken(:\n" + "    x = 1\n" * 1_000, language="python")
    assert chunk.text.startswith("```python\ndef broken(:\n")


_LINES = st.one_of(
    st.sampled_from(
        ["", "", "# Title", "## A", "### B", "Head", "===", "---", "```", "````", "~~~", "  ```", "    ```", "- ```py"]
    ),
    st.sampled_from(["<!-- c", "-->", "- item", "    code", "\ttab", "> quote", "| a |", "# in code", "\u3000wide"]),
    st.text(alphabet="ab#`~-=<!>\u200b 가", max_size=12),
    st.integers(1, 700).map(lambda n: " ".join(["word"] * n)),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_LINES, max_size=40).map("\n".join))
def test_no_content_is_lost_and_every_chunk_is_well_formed(body: str) -> None:
    chunks = _chunks(body)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(body.split())
    lines = [line.strip() for chunk in chunks for line in chunk.text.split("\n")]
    for line in body.split("\n"):
        assert not line.strip() or COUNTER.count(line) > 590 or line.strip() in lines
    for number, chunk in enumerate(chunks):
        assert chunk.id == f"api/x#{number:03d}"
        assert re.match(r"\S", chunk.text) and re.search(r"\S\n\Z", chunk.text)
        assert chunk.tokens == COUNTER.count(chunk.text)
