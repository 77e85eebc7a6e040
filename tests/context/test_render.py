from __future__ import annotations

from pathlib import Path

import pytest

from ragctx import data
from ragctx.context.render import BLOCKS, Renderer, join
from ragctx.errors import RagctxError


def overlay(folder: Path, **blocks: str) -> Renderer:
    for block, source in blocks.items():
        (folder / f"{block}.md.j2").write_text(source, encoding="utf-8")
    return Renderer(folder)


def test_a_block_ends_with_one_blank_line_and_an_empty_one_is_nothing(tmp_path: Path) -> None:
    renderer = overlay(tmp_path, section="\n\n{{ title }}\n\n\n")
    assert renderer.render("section", {"title": "A"}) == "A\n\n"
    assert renderer.render("section", {"title": " "}) == ""


def test_blocks_that_a_folder_lacks_are_the_shipped_ones(tmp_path: Path) -> None:
    renderer = overlay(tmp_path, section="<{{ title }}>")
    assert renderer.render("section", {"title": "A"}) == "<A>\n\n"
    assert renderer.render("supplement", {}) == Renderer().render("supplement", {})


def test_the_digest_tells_templates_apart_and_not_where_they_are(tmp_path: Path) -> None:
    assert Renderer().digest == Renderer().digest
    same = (data.templates() / "section.md.j2").read_text(encoding="utf-8")
    assert overlay(tmp_path, section=same).digest == Renderer().digest
    assert overlay(tmp_path, section=f"{same}.").digest != Renderer().digest


def test_values_are_never_template_source() -> None:
    hostile = "{{ title }} {% for x in y %} {# gone #} </document>"
    assert Renderer().render("section", {"title": hostile}) == f"## {hostile}\n\n"


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{{ titel }}", "unknown variable: 'titel' is undefined; a section template may use: title"),
        ("{{ title.x.y }}", "unknown variable: 'str object' has no attribute 'x'; a section template may use: title"),
        ("{{ ''.__class__ }}", "the template fails: access to attribute '__class__' of 'str' object is unsafe."),
        (
            "{{ ''.__class__.__mro__ }}",
            "the template fails: access to attribute '__class__' of 'str' object is unsafe.",
        ),
        ("{{ title | nothing }}", None),
        ("{{ 1 / 0 }}", "the template fails: ZeroDivisionError: division by zero"),
        ("{{ title + 1 }}", 'the template fails: TypeError: can only concatenate str (not "int") to str'),
        ("{{ range(10 ** 9) | list }}", None),
        ("{% include 'other' %}", None),
    ],
)
def test_a_template_that_fails_is_one_line(tmp_path: Path, source: str, says: str | None) -> None:
    with pytest.raises(RagctxError) as caught:
        overlay(tmp_path, section=source).render("section", {"title": "A"})
    line = str(caught.value)
    assert line.startswith(str(tmp_path / "section.md.j2"))
    assert "\n" not in line
    if says is not None:
        assert says in line


def test_a_syntax_error_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(RagctxError) as caught:
        overlay(tmp_path, section="fine\n{% if %}\n")
    assert str(caught.value).startswith(f"{tmp_path / 'section.md.j2'}:2: the template does not parse: ")


@pytest.mark.parametrize("content", [None, "other.md.j2"])
def test_a_folder_without_a_template_is_refused(tmp_path: Path, content: str | None) -> None:
    if content:
        (tmp_path / content).write_text("x")
    with pytest.raises(RagctxError, match="no template in this folder"):
        Renderer(tmp_path)
    with pytest.raises(RagctxError, match="no template in this folder"):
        Renderer(tmp_path / "missing")


def test_a_template_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "section.md.j2").write_bytes(b"\xff")
    with pytest.raises(RagctxError, match="the template is not UTF-8"):
        Renderer(tmp_path)


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("(8, 128) | shape", "(8, 128)"),
        ("() | shape", "()"),
        ("[4] | shape", "(4,)"),
        ("0 | size", "0 B"),
        ("1023 | size", "1023 B"),
        ("1024 | size", "1 KiB"),
        ("1536 | size", "1.5 KiB"),
        ("268435456 | size", "256 MiB"),
        ("1047527424 | size", "999 MiB"),
        ("3221225472 | size", "3 GiB"),
        ("5497558138880 | size", "5 TiB"),
        ("999.0 | si", "999 "),
        ("2199023255552 | si", "2.2 T"),
        ("3848290697216 | si", "3.85 T"),
        ("0 | si", "0 "),
        ("7e15 | si", "7 P"),
    ],
)
def test_filters(tmp_path: Path, expression: str, shown: str) -> None:
    assert overlay(tmp_path, section=f"[{{{{ {expression} }}}}]").render("section", {}) == f"[{shown}]\n\n"


def test_joining_leaves_one_line_break_at_the_end() -> None:
    assert join(["a\n\n", "", "b\n\n"]) == "a\n\nb\n"
    assert join([]) == join(["", "\n"]) == ""
    assert BLOCKS == ("role", "section", "document", "facts", "supplement")
