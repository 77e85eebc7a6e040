from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_command import Command


def test_a_document_of_plain_markdown(small: Command, brine: Path) -> None:
    outcome = small("show", "api/guide/dollops")
    assert outcome.out == (brine / "guide" / "dollops.md").read_text()
    assert (outcome.status, outcome.err) == (0, "")


def test_a_document_without_a_heading_gets_its_title(shipped: Command) -> None:
    lines = shipped("show", "example/matmul").out.splitlines()
    assert lines[0].startswith("# ")
    assert lines[1] == ""
    assert any(line.startswith("def workload(") for line in lines)


def test_a_chunk(small: Command, brine: Path) -> None:
    assert small("show", "api/guide/dollops#000").out == (brine / "guide" / "dollops.md").read_text()
    chunk = json.loads(small("show", "api/guide/dollops#000", "--json").out)
    assert (chunk["id"], chunk["title"]) == ("api/guide/dollops#000", "Dollops")


def test_json_holds_the_front_matter(shipped: Command) -> None:
    document = json.loads(shipped("show", "rule/block-8-128", "--json").out)
    assert (document["id"], document["kind"], document["layer"]) == ("rule/block-8-128", "rule", "shipped")
    assert document["triggers"]
    assert document["raises"] == "block-8-128.raises.py"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("dollops", "there is no document 'dollops'; did you mean api/guide/dollops"),
        ("zzqx", "there is no document 'zzqx'; search lists ids"),
        ("api/dollops", "there is no document 'api/dollops'; did you mean api/guide/dollops"),
        ("api/guide/dolops", "there is no document 'api/guide/dolops'; did you mean api/guide/dollops"),
        ("api/guide/dollops#009", "there is no document 'api/guide/dollops#009'; did you mean api/guide/dollops"),
        ("", "there is no document ''; search lists ids"),
    ],
)
def test_an_unknown_id_with_the_nearest_ones(small: Command, name: str, says: str) -> None:
    outcome = small("show", name)
    assert outcome.status == 1
    assert outcome.error.startswith(says)


def test_a_symbol_by_its_last_name(shipped: Command) -> None:
    assert "did you mean api/pl.BlockSpec" in shipped("show", "BlockSpec").error
