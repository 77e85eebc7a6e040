from __future__ import annotations

from pathlib import Path

import pytest
from installed_table import installed_table

from ragctx.corpus.document import Document, Kind, Renamed
from ragctx.errors import RagctxError
from ragctx.verify.renames import Misuse, Rename, Renames, Shape, load_renames
from ragctx.verify.symbols import Class, Module


def test_the_table_and_the_cards_are_merged(tmp_path: Path) -> None:
    (tmp_path / "renames.yaml").write_text(
        "names:\n  - {old: pl.a, new: [pl.ds], since: '0.5', note: n}\n"
        "keywords:\n  - {callable: pl.f, old: k, new: [j]}\n"
        "arguments:\n  - {callable: pl.f, argument: x, given: dict, error: 'e'}\n"
    )
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "pl.when.md").write_text(
        "---\ntitle: t\nsymbols: [pl.when]\nwas:\n  - {name: pl.a}\n  - {name: pl.b, until: '0.6'}\n---\nText.\n"
    )
    (tmp_path / "api" / "pl.ds.md").write_text("---\ntitle: t\nnot a key of ours\n---\nwas: no front matter\n")
    card = Document("api/acme.new", Kind.API, "t", "", was=(Renamed("acme.old", "2"),))
    renames = load_renames(tmp_path, [card])
    assert renames.names == {
        "pl.a": Rename("pl.a", ("pl.ds",), "0.5", "n"),
        "pl.b": Rename("pl.b", ("pl.when",), "0.6"),
        "acme.old": Rename("acme.old", ("acme.new",), "2"),
    }
    assert renames.keywords == {("pl.f", "k"): Rename("k", ("j",), callable="pl.f")}
    assert renames.misuses == (Misuse("pl.f", "x", Shape.DICT, error="e"),)
    assert load_renames(tmp_path / "api").names == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("names: [", "not valid YAML"),
        ("other: []", "must hold"),
        ("names: {}", "'names' must be a list"),
        ("names: [{new: [a]}]", "an entry must be a mapping of old"),
        ("names: [{old: a, now: b}]", "an entry must be a mapping of old"),
        ("names: [{old: a, new: b}]", "every value must be text"),
        ("names: [{old: a, since: 0.5}]", "every value must be text"),
        ("keywords: [{old: a}]", "an entry must be a mapping of callable, old"),
        ("arguments: [{callable: a, argument: b, given: c}]", "'given' must be one of lambda, dict, negative, with"),
    ],
)
def test_a_malformed_table_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "renames.yaml").write_text(text)
    with pytest.raises(RagctxError, match=said) as caught:
        load_renames(tmp_path)
    assert str(tmp_path / "renames.yaml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_replacements_that_this_jax_lacks_are_not_proposed() -> None:
    table = installed_table()
    pallas = Module("jax.experimental.pallas")
    renames = Renames([Rename("pl.gone", ("pl.not_there", "pl.ds", "any code"), "0.5")])
    assert renames.name_advice(table, pallas, "gone") == ("pl.gone is gone since jax 0.5", "use pl.ds or any code")
    newer = Renames([Rename("pl.ds", ("pl.newer",), "99.0")])
    assert newer.name_advice(table, pallas, "newer") == (f"jax {table.jax} has no pl.newer yet", "use pl.ds")


def test_small_enums_are_listed_whole() -> None:
    table = installed_table()
    space = table.lookup("pltpu.SemaphoreType")
    assert isinstance(space, Class)
    assert Renames().name_advice(table, space, "NOPE") == (
        f"jax {table.jax} has no pltpu.SemaphoreType.NOPE",
        "use pltpu.SemaphoreType.BARRIER or pltpu.SemaphoreType.DMA or pltpu.SemaphoreType.REGULAR",
    )
