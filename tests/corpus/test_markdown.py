from __future__ import annotations

import pytest

from ragctx.corpus.markdown import blocks, closing_fence, fence_for, first_heading


def _headings(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.heading) for block in blocks(text) if block.level]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            '# One\n## Two ##\n### `pl.x` and **bold** [link](u "t")\n',
            [(1, "One"), (2, "Two"), (3, "pl.x and bold link")],
        ),
        ("One\nmore\n===\nTwo\n---\n", [(1, "One more"), (2, "Two")]),
        ("text\n\n---\n\nmore\n", []),
        ("- item\n---\n> quote\n---\n| a |\n---\n", []),
        ("#hashtag\n    # code\n####### seven\n", []),
        ("```\n# comment\n```\n# Real\n", [(1, "Real")]),
        ("````\n```\n# comment\n```\n# comment\n````\n", []),
        ("~~~\n```\n# comment\n~~~\n# Real\n", [(1, "Real")]),
        ("- ```py\n  # comment\n  ```\n# Real\n", [(1, "Real")]),
        ("```\n# never closed\n", []),
        ("    ``` never closed\n# Real\n", [(1, "Real")]),
        ("``` with ` in it\n# Real\n", [(1, "Real")]),
        ("<!--\n# hidden\n-->\n# Real\n", [(1, "Real")]),
        ("<!-- never closed\n# Real\n", [(1, "Real")]),
        ("#\n# \n", [(1, ""), (1, "")]),
        ("_init_ and __init__\n===\n", [(1, "_init_ and __init__")]),
    ],
)
def test_headings(text: str, expected: list[tuple[int, str]]) -> None:
    assert _headings(text) == expected


def test_blocks_keep_every_visible_line_and_know_where_they_are() -> None:
    text = "# A\npara\nmore\n```\ncode\n\ncode\n```\ntail\n\nlast"
    assert [(block.line, block.text, block.fenced) for block in blocks(text)] == [
        (0, "# A", False),
        (1, "para\nmore", False),
        (3, "```\ncode\n\ncode\n```", True),
        (8, "tail", False),
        (10, "last", False),
    ]


def test_first_heading_skips_empty_ones() -> None:
    assert first_heading("text\n\n#\n\n## Named\n") == "Named"
    assert first_heading("text\n") == ""


@pytest.mark.parametrize(
    ("text", "expected"), [("a", None), ("```\n```", None), ("```py\nx", "```"), ("~~~~\n```\n", "~~~~")]
)
def test_closing_fence(text: str, expected: str | None) -> None:
    assert closing_fence(text) == expected


def test_fence_is_longer_than_any_inside() -> None:
    assert fence_for("x = 1") == "```"
    assert fence_for("a ```` b") == "`````"


def test_hundred_thousand_fences_that_nothing_closes_take_no_time_to_speak_of() -> None:
    text = "\n".join(f"    ```{n}" for n in range(100_000)) + "\n# Real"
    assert _headings(text) == [(1, "Real")]
