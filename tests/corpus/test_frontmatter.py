from __future__ import annotations

import pytest

from ragctx.corpus.document import Renamed
from ragctx.corpus.frontmatter import FrontMatter, Split, parse, read, split_markdown, split_python
from ragctx.errors import RagctxError


def _read(block: str) -> FrontMatter:
    return read(parse(block, line=2, where="corpus/rules/x.md"), where="corpus/rules/x.md")


def test_every_key() -> None:
    block = r"""title: A
  folded title
tags: [matmul, "128"]
primitives: [dot_general]
symbols:
  - pl.BlockSpec
targets: [v6e, tpu7x]
requires: {jax: ">=0.7,<0.11", acme-lib: ==2.*}
triggers:
  - 'two  spaces \d+'
  - "E1001: .*vmem"
always: true
related: [api/pl.BlockSpec, rule/some tile]
was:
  - {name: pltpu.TPUMemorySpace, until: 0.10}
  - name: pltpu.ANY
raises: x.raises.py
source: JAX 0.10.2
verified: {jax: 0.10, libtpu: 0.0.42.1}
"""
    assert _read(block) == FrontMatter(
        title="A folded title",
        tags=("matmul", "128"),
        primitives=("dot_general",),
        symbols=("pl.BlockSpec",),
        targets=("v6e", "tpu7x"),
        requires={"acme-lib": "==2.*", "jax": ">=0.7,<0.11"},
        triggers=(r"two  spaces \d+", "E1001: .*vmem"),
        always=True,
        related=("api/pl.BlockSpec", "rule/some tile"),
        was=(Renamed("pltpu.TPUMemorySpace", "0.10"), Renamed("pltpu.ANY")),
        raises="x.raises.py",
        source="JAX 0.10.2",
        verified={"jax": "0.10", "libtpu": "0.0.42.1"},
    )


_LIST = "must be a list of texts, such as [a, b]"


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("title: x\nstuff: 1\ntag: [a]", "3: unknown key 'stuff'; the keys are: title, tags, primitives, symbols, "),
        ("title: x\n\ntag: [a]", "4: unknown key 'tag'; did you mean 'tags'"),
        ("title: x\nTriggers: [a]", "3: unknown key 'Triggers'; did you mean 'triggers'"),
        ("title: x\ntitle: y", "3: key 'title' is given twice; line 2 has it already"),
        ("tags: [a]", "1: front matter has no 'title'; add a 'title' line"),
        ("title:\ntags: [a]", "2: key 'title': must be text"),
        ("title: [a]", "2: key 'title': must be text"),
        ("title: 2", "2: key 'title': must be text"),
        ("title: ''", "2: key 'title': must be text, and not empty"),
        ("title: x\ntags: a, b", f"3: key 'tags': {_LIST}"),
        ("title: x\ntags:\n  - a\n  - 128", "5: key 'tags': must be a list of texts (quote what looks like a number)"),
        ("title: x\nsymbols: [[a]]", "3: key 'symbols': must be a list of texts (quote what looks like a number)"),
        ("title: x\nalways: 1", "3: key 'always': must be true or false"),
        ("title: x\nalways: 'true'", "3: key 'always': must be true or false"),
        (
            "title: x\ntargets:\n  - v6e\n  - v9",
            "5: key 'targets': unknown target 'v9'; use one of: v4, v5e, v5p, v6e, tpu7x",
        ),
        ("title: x\ntriggers:\n  - ok\n  - '('", "5: key 'triggers': '(': not a regular expression: missing ), "),
        ("title: x\ntriggers: ['.*']", "3: key 'triggers': '.*': matches every text"),
        ("title: x\nrequires: {jax: 0.7}", "3: key 'requires': '0.7' is no version specifier for jax (write such as "),
        ("title: x\nrequires: '>=0.7'", "3: key 'requires': must be a mapping from package to version, such as "),
        ("title: x\nrequires:\n  jax: '>=1'\n  jax: '>=2'", "5: key 'requires': 'jax' is given twice"),
        ("title: x\nverified: {jax: newest}", "3: key 'verified': 'newest' is no version of jax"),
        (
            "title: x\nrelated: [BlockSpec]",
            "3: key 'related': 'BlockSpec': not a document id (such as api/pl.BlockSpec)",
        ),
        ("title: x\nwas: [a]", "3: key 'was': must be a list of {name: ..., until: ...}"),
        ("title: x\nwas: [{name: a, since: 1}]", "3: key 'was': must be a list of {name: ..., until: ...}"),
        (
            "title: x\nraises: ../y.raises.py",
            "3: key 'raises': '../y.raises.py' is not the name of a '.raises.py' file",
        ),
        (
            "title: x: y",
            "2: front matter is not YAML: mapping values are not allowed in this context; quote text that ",
        ),
        ("title: x\n\ttags: y", "3: front matter is not YAML: "),
        ("title: 'x", "2: front matter is not YAML: found unexpected end of stream"),
        ("- a", "2: front matter must be 'key: value' lines"),
        ("{a: b}: c", "2: a key must be a word"),
        ("title: !!python/object:os.system x", "2: key 'title': must be text"),
        ("[" * 50_000, "2: front matter is not YAML: "),
        ("title: " + "x" * 70_000, "2: front matter is longer than 65536 characters"),
    ],
)
def test_errors_name_file_line_and_key(block: str, message: str) -> None:
    with pytest.raises(RagctxError) as caught:
        _read(block)
    assert str(caught.value).startswith(f"corpus/rules/x.md:{message}")


def test_a_pile_of_aliases_does_not_explode() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
    with pytest.raises(RagctxError, match="unknown key 'a0'"):
        _read("title: x\n" + "\n".join(lines))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ntitle: x\n---\n\n\n  body\n", Split("title: x", "  body\n", line=2)),
        ("--- \ntitle: x\n...\nbody", Split("title: x", "body", line=2)),
        ("---\n---\nbody", Split("", "body", line=2)),
        ("body\n---\na: b\n---\n", Split(None, "body\n---\na: b\n---\n")),
        ("---\ntitle: x\n", Split(None, "---\ntitle: x\n", closed=False)),
        ("", Split(None, "")),
    ],
)
def test_split_markdown(text: str, expected: Split) -> None:
    assert split_markdown(text) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            '"""---\ntitle: x\n---\nRest \\d.\n\nMore.\n"""\nx = 1\n',
            Split("title: x", '"""Rest \\d.\n\nMore.\n"""\nx = 1\n', line=2),
        ),
        ('# note\nr"""\n---\ntitle: x\n---\n"""\n\nx = 1\n', Split("title: x", "# note\n\n\nx = 1\n", line=4)),
        ("'''\n\n---\ntitle: x\n---\n'''\nx = 1\n", Split("title: x", "x = 1\n", line=4)),
        ('"""\\\n---\ntitle: x\n---\nRest.\n"""\n', Split("title: x", '"""Rest.\n"""\n', line=3)),
        ('"""Plain."""\n', Split(None, '"""Plain."""\n')),
        ("x = 1\n", Split(None, "x = 1\n")),
        ('"""---\ntitle: x\n"""\n', Split(None, '"""---\ntitle: x\n"""\n', line=1, closed=False)),
    ],
)
def test_split_python(source: str, expected: Split) -> None:
    assert split_python(source, where="x.py") == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\ndef f(:\n", "x.py:2: Python syntax error: invalid syntax"),
        ("'---\\ntitle: x\\n---'\n", "x.py:1: front matter must stand in one triple-quoted docstring"),
    ],
)
def test_split_python_errors(source: str, message: str) -> None:
    with pytest.raises(RagctxError) as caught:
        split_python(source, where="x.py")
    assert str(caught.value) == message
