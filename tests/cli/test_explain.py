from __future__ import annotations

import json

import pytest
from cli_command import Command

from ragctx.context import ContextBuilder
from ragctx.index import Index

ERROR = (
    "ValueError: The Pallas TPU lowering currently requires that the last two dimensions of your block shape are "
    "divisible by 8 and 128 respectively"
)


def test_text_file_and_standard_input_say_the_same(shipped: Command, shipped_index: Index) -> None:
    (shipped.folder / "error.txt").write_text(ERROR)
    expected = ContextBuilder(shipped_index).supplement(ERROR).text
    assert '<document id="rule/block-8-128">' in expected
    for arguments, stdin in (([ERROR], ""), (ERROR.split(" "), ""), (["error.txt"], ""), (["-"], ERROR)):
        outcome = shipped("explain", *arguments, stdin=stdin)
        assert (outcome.status, outcome.out, outcome.err) == (0, expected, "")


def test_budget_target_and_json(shipped: Command, shipped_index: Index) -> None:
    outcome = shipped("explain", ERROR, "--budget", "400", "--target", "v5e", "--json")
    answer = json.loads(outcome.out)
    assert (answer["manifest"]["budget"], answer["manifest"]["target"]) == (400, "v5e")
    assert answer["manifest"]["tokens"] <= 400
    assert answer["text"].startswith("The documents below address the error above.")
    assert json.loads(shipped("explain", ERROR, "--json", RAGCTX_SUPPLEMENT="300").out)["manifest"]["budget"] == 300


def test_nothing_addresses_it(small: Command) -> None:
    outcome = small("explain", "zzqx")
    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err == "ragctx: no document addresses this error\n"


@pytest.mark.parametrize(
    ("arguments", "stdin", "says"),
    [
        ([""], b"", "the error text is empty; give its message, a file, or - for standard input"),
        (["-"], b"", "the error text is empty; give its message, a file, or - for standard input"),
        (["-"], b"\xff", "standard input:1: the error text is not UTF-8 (byte 0xff); save it as UTF-8"),
        (["-"], b"x" * (16 * 1024 * 1024 + 1), "standard input: more than 16 MiB; give less text"),
        (["logs/missing.txt"], b"", "logs/missing.txt: no such error text; check the path"),
        ([ERROR, "--budget", "0"], b"", "a budget of 0 tokens; give a positive number of tokens"),
        ([ERROR, "--target", "v9"], b"", "unknown target 'v9'; use one of: v4, v5e, v5p, v6e, tpu7x"),
    ],
)
def test_bad_input_is_one_line(small: Command, arguments: list[str], stdin: bytes, says: str) -> None:
    outcome = small("explain", *arguments, stdin=stdin)
    assert outcome.status == 1
    assert outcome.error == says
