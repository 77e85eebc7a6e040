from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
from pathlib import Path

from cli_command import Command

from ragctx import __version__


def report(outcome_text: str) -> dict[str, dict[str, object]]:
    answer = json.loads(outcome_text)
    assert answer["version"] == __version__
    return {check["name"]: check for check in (*answer["checks"], *answer["extras"])}


def test_what_works_here(ragctx: Command) -> None:
    outcome = ragctx("doctor")
    assert (outcome.status, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == f"ragctx {__version__}"
    assert lines[1].startswith(f"ok   python: {platform.python_version()} on ")
    assert {line[:4] for line in lines[1:]} <= {"ok  ", "MISS"}
    assert any(line.startswith("ok   tokenizer: tiktoken ") for line in lines)
    assert f"ok   cache: {ragctx.environment['XDG_CACHE_HOME']}/ragctx" in lines
    assert "ok   project: no ragctx.toml here or above" in lines
    assert any(line.startswith(f"ok   jax: {importlib.metadata.version('jax')} (") for line in lines)


def test_json_says_the_same(ragctx: Command) -> None:
    found = report(ragctx("doctor", "--json").out)
    assert list(found)[:7] == ["python", "data", "tokenizer", "cache", "project", "corpus", "jax"]
    assert all(check["works"] for name, check in found.items() if not name.startswith("extra"))
    assert all(set(check) == {"name", "works", "detail"} for check in found.values())


def test_a_missing_extra_says_what_it_would_add(ragctx: Command) -> None:
    # Without the site-packages of this environment's libtpu: a folder that shadows it with nothing cannot be found.
    found = report(ragctx("doctor", "--json").out)["extra tpu"]
    if found["works"]:
        assert str(found["detail"]).startswith("libtpu ")
    else:
        assert str(found["detail"]).endswith('pip install "ragctx[tpu]"')


def test_settings_and_index_in_force(ragctx: Command, small: Command) -> None:
    (ragctx.folder / "ragctx.toml").write_text("budget = 5\n")
    found = report(ragctx("doctor", "--json").out)
    assert found["project"]["detail"] == f"settings from {ragctx.folder}/ragctx.toml"
    assert str(found["index"]["detail"]).startswith("7 documents in ")


def test_what_does_not_work(ragctx: Command) -> None:
    (ragctx.folder / "file").write_text("")
    outcome = ragctx("doctor", "--json", RAGCTX_CACHE=str(ragctx.folder / "file" / "cache"))
    found = report(outcome.out)
    assert outcome.status == 1
    assert found["cache"]["works"] is False
    assert str(found["cache"]["detail"]).endswith("set RAGCTX_CACHE")
    index = report(ragctx("doctor", "--json", RAGCTX_INDEX="missing").out)["index"]
    assert index["works"] is False


def test_another_environments_python(ragctx: Command) -> None:
    there = report(ragctx("doctor", "--json", "--python", sys.executable).out)["jax"]
    assert there["detail"] == f"{importlib.metadata.version('jax')} for {sys.executable}"
    none = report(ragctx("doctor", "--json", "--python", "/no/python").out)["jax"]
    assert none["works"] is False


def test_bad_settings_are_one_line(ragctx: Command) -> None:
    Path(ragctx.folder / "ragctx.toml").write_text("budjet = 5\n")
    outcome = ragctx("doctor")
    assert outcome.status == 1
    assert "unknown key 'budjet'" in outcome.error


def test_a_corpus_that_is_not_there_fails(ragctx: Command) -> None:
    (ragctx.folder / "ragctx.toml").write_text('corpus = ["nodocs"]\n')
    outcome = ragctx("doctor", "--json")
    assert outcome.status == 1
    assert report(outcome.out)["corpus"]["works"] is False
