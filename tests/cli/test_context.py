from __future__ import annotations

import json
import resource
import subprocess
from pathlib import Path

import pytest
from cli_command import Command

from ragctx.context import ContextBuilder, ContextOptions, Section
from ragctx.index import Index

TASK = "How much brine is in vat 7?"
NOTE = "ragctx: not traced: read from the text alone\n"

GOOD = """import jax.numpy as jnp
CONFIG = {"n": 256}


def create_inputs(dtype=jnp.float32):
    return (jnp.zeros((CONFIG["n"], 128), dtype),)


def workload(x):
    return jnp.tanh(x)
"""


@pytest.fixture
def good(ragctx: Command) -> Path:
    path = ragctx.folder / "good.py"
    path.write_text(GOOD)
    return path


# -- what it prints --------------------------------------------------------------------------------------------------


def test_a_workload_read_as_text(shipped: Command, shipped_index: Index, gemm: Path) -> None:
    outcome = shipped("context", gemm, "--no-trace")
    assert (outcome.status, outcome.err) == (0, NOTE)
    assert outcome.out == ContextBuilder(shipped_index).prefix(gemm, trace=False).text


def test_a_traced_workload(small: Command, good: Path) -> None:
    outcome = small("context", good)
    assert (outcome.status, outcome.err) == (0, "")
    assert "| x | (256, 128) | float32 | 128 KiB | yes | (32, 128) |\n" in outcome.out
    assert "Primitives in the reference: tanh.\n" in outcome.out


def test_a_task_from_the_command_line_and_from_standard_input(small: Command, brine_index: Index) -> None:
    expected = ContextBuilder(brine_index).prefix(task=TASK).text
    for arguments, stdin in ((["--task", TASK], ""), (["--task", "-"], TASK)):
        outcome = small("context", *arguments, stdin=stdin)
        assert (outcome.status, outcome.out, outcome.err) == (0, expected, "")


def test_manifest_and_json(small: Command, brine_index: Index) -> None:
    context = ContextBuilder(brine_index).prefix(task=TASK, budget=300)
    outcome = small("context", "--task", TASK, "--budget", "300", "--manifest", "m.json", "--json")
    assert json.loads(outcome.out) == {"text": context.text, "manifest": context.manifest}
    assert json.loads((small.folder / "m.json").read_text()) == context.manifest
    assert outcome.out.count("\n") == 1
    assert [path.name for path in small.folder.iterdir()] == ["m.json"]


def test_sections(small: Command, brine_index: Index) -> None:
    builder = ContextBuilder(brine_index)
    api = builder.prefix(task=TASK, options=ContextOptions(sections=(Section.API,))).text
    assert small("context", "--task", TASK, "--sections", "api").out == api
    assert small("context", "--task", TASK, "--without", "hardware,rules,examples,facts").out == api
    assert small("context", "--task", TASK, RAGCTX_SECTIONS="api").out == api


def test_settings_reach_the_prefix(small: Command, brine_index: Index) -> None:
    (small.folder / "ragctx.toml").write_text("budget = 300\ntarget = 'v4'\n")
    manifest = json.loads(small("context", "--task", TASK, "--json").out)["manifest"]
    assert (manifest["budget"], manifest["target"]) == (300, "v4")
    manifest = json.loads(small("context", "--task", TASK, "--json", "--budget", "310", RAGCTX_TARGET="v5e").out)[
        "manifest"
    ]
    assert (manifest["budget"], manifest["target"]) == (310, "v5e")


def test_a_corpus_of_ones_own_on_first_use(ragctx: Command, brine: Path, brine_index: Index) -> None:
    outcome = ragctx("context", "--task", TASK, "--corpus", brine)
    assert outcome.out == ContextBuilder(brine_index).prefix(task=TASK).text
    assert (Path(ragctx.environment["XDG_CACHE_HOME"]) / "ragctx" / "index").is_dir()


def test_a_corpus_on_the_command_line_goes_before_an_index_in_the_settings(small: Command) -> None:
    docs = small.folder / "docs"
    docs.mkdir()
    (docs / "only.md").write_text("# Only\n\nThe brine of this vat.\n")
    manifest = json.loads(small("context", "--task", TASK, "--corpus", docs, "--json").out)["manifest"]
    assert [entry["document"] for entry in manifest["chunks"]] == ["api/only"]


def test_templates_of_ones_own(small: Command) -> None:
    (small.folder / "t").mkdir()
    (small.folder / "t" / "section.md.j2").write_text("=== {{ title }} ===")
    assert "=== API reference ===\n\n<document" in small("context", "--task", TASK, "--templates", "t").out


def test_the_supplement_alone(shipped: Command, shipped_index: Index, gemm: Path) -> None:
    error = "block shape must be divisible by 8 and 128 respectively"
    builder = ContextBuilder(shipped_index)
    (shipped.folder / "error.txt").write_text(error)
    assert shipped("context", "--error", "error.txt").out == builder.supplement(error).text
    assert shipped("context", "--error", "-", stdin=error).out == builder.supplement(error).text
    assert shipped("context", gemm, "--no-trace", "--manifest", "prefix.json").status == 0
    first = shipped("context", "--error", "error.txt", "--shown", "prefix.json", "--manifest", "first.json")
    prefix = builder.prefix(gemm, trace=False)
    assert first.out == builder.supplement(error, shown=[prefix.manifest]).text
    second = shipped(
        "context",
        "--error",
        "error.txt",
        "--shown",
        "prefix.json",
        "--shown",
        "first.json",
        "--budget",
        "700",
        "--json",
    )
    shown = {
        e["chunk"]
        for name in ("prefix.json", "first.json")
        for e in json.loads((shipped.folder / name).read_text())["chunks"]
    }
    answer = json.loads(second.out)["manifest"]
    assert shown.isdisjoint(entry["chunk"] for entry in answer["chunks"])
    assert (answer["kind"], answer["budget"]) == ("supplement", 700)


def test_shown_may_be_what_json_printed(small: Command) -> None:
    (small.folder / "p.json").write_text(small("context", "--task", TASK, "--json").out)
    outcome = small("context", "--error", "-", "--shown", "p.json", "--json", stdin="float stuck E204")
    answer = json.loads(outcome.out)
    assert (answer["text"], answer["manifest"]["chunks"]) == ("", [])
    assert outcome.err == "ragctx: no document addresses this error\n"


def test_a_task_on_nothing_known_says_so(small: Command) -> None:
    outcome = small("context", "--task", "zzqx")
    assert (outcome.status, outcome.err) == (0, "ragctx: nothing in the corpus matches this task\n")
    assert outcome.out.startswith("# Reference documentation for this task\n")


# -- bad input -------------------------------------------------------------------------------------------------------

WORKLOADS = {
    "syntax.py": ("def workload(:\n", "syntax.py:1: syntax error: invalid syntax; fix the file"),
    "none.py": ("CONFIG = {}\n", "none.py: has no function `workload`; define `CONFIG`, "),
    "latin.py": (
        b"# caf\xe9\ndef workload(x): ...\n",
        "latin.py:1: the workload file is not UTF-8 (byte 0xe9); save it as",
    ),
    "config.py": ("CONFIG = 3\ndef workload(x): ...\n", "config.py:1: `CONFIG` is not a dict; "),
    "import.py": (
        "import nosuchmodule\n" + GOOD,
        "import.py:1: importing it fails: ModuleNotFoundError: No module named",
    ),
    "nul.py": ("def workload(x): ...\n\x00", "nul.py:1: syntax error: source code string cannot contain null bytes; "),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_that_cannot_be_read(small: Command, name: str) -> None:
    content, says = WORKLOADS[name]
    (small.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    outcome = small("context", name, "--manifest", "m.json")
    assert outcome.status == 1
    assert outcome.error.startswith(says)
    assert not (small.folder / "m.json").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.py"], "missing.py: no such workload file; check the path"),
        (["."], ".: is a folder, not a workload file; name a file in it"),
        (["good.py", "--target", "v9"], "unknown target 'v9'; use one of: v4, v5e, v5p, v6e, tpu7x"),
        (
            ["good.py", "--sections", "foo"],
            "--sections: unknown section 'foo'; use any of: hardware, rules, api, examples,",
        ),
        (
            ["good.py", "--without", "foo"],
            "--without: unknown section 'foo'; use any of: hardware, rules, api, examples, ",
        ),
        (
            ["good.py", "--no-trace", "--budget", "3"],
            "a budget of 3 tokens is too small for the fixed parts; give at least ",
        ),
        (["good.py", "--budget", "0"], "a budget of 0 tokens; give a positive number of tokens"),
        (["good.py", "--budget", "-4"], "a budget of -4 tokens; give a positive number of tokens"),
        (["good.py", "--python", "/no/python"], "/no/python: "),
        (["good.py", "--index", "missing"], "missing: "),
        (["good.py", "--corpus", "missing"], "missing: no such corpus folder; check the path"),
        (
            ["good.py", "--templates", "missing"],
            "missing: no template in this folder; put one of role, section, document,",
        ),
        (["good.py", "--no-trace", "--manifest", "no/m.json"], "no/m.json: cannot write: No such file or directory; "),
        (["good.py", "--no-trace", "--manifest", "."], ".: is a folder, not a file to write; name a file in it"),
        (["--task", ""], "--task: the task is empty; say what the code should do"),
        (["--task", " \n "], "--task: the task is empty; say what the code should do"),
        (["--task", "-"], "--task: the task is empty; say what the code should do"),
        (["--error", "missing.txt"], "missing.txt: no such error text; check the path"),
        (["--error", "good.py", "--budget", "0"], "a budget of 0 tokens; give a positive number of tokens"),
        (["--error", "good.py", "--shown", "missing"], "missing: no such manifest; check the path"),
        (["--error", "good.py", "--shown", "good.py"], "good.py: not JSON: "),
        (
            ["--error", "good.py", "--shown", "list.json"],
            "list.json: not a manifest; give a file that --manifest wrote",
        ),
        (["--error", "good.py", "--shown", "odd.json"], "odd.json: not a manifest; give a file that --manifest wrote"),
    ],
)
def test_bad_input_is_one_line(small: Command, good: Path, arguments: list[str], says: str) -> None:
    (small.folder / "list.json").write_text("[1]")
    (small.folder / "odd.json").write_text('{"chunks": [{"chunk": 3}]}')
    before = sorted(small.folder.rglob("*"))
    outcome = small("context", *arguments)
    assert outcome.status == 1
    assert outcome.error.startswith(says)
    assert sorted(small.folder.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["good.py", "--task", "x"],
        ["--task", "x", "--error", "good.py"],
        ["good.py", "--sections", "api", "--without", "api"],
        ["good.py", "--engine", "other"],
        ["good.py", "other.py"],
        ["good.py", "--error", "good.py"],
        ["good.py", "--shown", "good.py"],
        ["good.py", "--index", "idx", "--corpus", "docs"],
    ],
)
def test_usage_errors(small: Command, good: Path, arguments: list[str]) -> None:
    outcome = small("context", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.splitlines()[-1].startswith("Error: ")


def test_the_least_budget_works(small: Command, good: Path) -> None:
    line = small("context", good, "--no-trace", "--budget", "1").error
    least = int(line.partition("give at least ")[2].partition(",")[0])
    assert small("context", good, "--no-trace", "--budget", str(least)).status == 0
    assert small("context", good, "--no-trace", "--budget", str(least - 1)).status == 1


def test_a_trace_error_falls_back_to_the_text_and_says_so(small: Command) -> None:
    (small.folder / "bad.py").write_text(GOOD.replace("jnp.tanh(x)", "jnp.tanh(x) @ jnp.ones((3, 3))"))
    outcome = small("context", "bad.py", "--manifest", "m.json")
    assert outcome.status == 0
    assert outcome.err.startswith("ragctx: not traced: workload fails: TypeError: ") and outcome.err.count("\n") == 1
    assert "Primitives in the reference: dot_general, tanh.\n" in outcome.out
    manifest = json.loads((small.folder / "m.json").read_text())
    assert (manifest["traced"], [f"ragctx: {note}\n" for note in manifest["notes"]]) == (False, [outcome.err])


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ titel }}", "t/section.md.j2: unknown variable: 'titel' is undefined; a section template may use: title"),
        (
            "{{ ''.__class__ }}",
            "t/section.md.j2: the template fails: access to attribute '__class__' of 'str' object is",
        ),
        ("{% if %}", "t/section.md.j2:1: the template does not parse: "),
    ],
)
def test_templates_that_fail(small: Command, template: str, says: str) -> None:
    (small.folder / "t").mkdir()
    (small.folder / "t" / "section.md.j2").write_text(template)
    outcome = small("context", "--task", TASK, "--templates", "t", "--manifest", "m.json")
    assert outcome.status == 1
    assert outcome.error.startswith(says)
    assert not (small.folder / "m.json").exists()


def damage_chunks(folder: Path) -> None:
    path = folder / "chunks.jsonl"
    path.write_bytes(path.read_bytes()[:-40])


def damage_array(folder: Path) -> None:
    path = folder / "postings_scores.npy"
    path.write_bytes(path.read_bytes()[:200])


def damage_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("{")


def other_version(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "ragctx": "0.0.1"}))


def other_format(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 999}))


@pytest.mark.parametrize("damage", [damage_chunks, damage_array, damage_manifest, other_version, other_format])
def test_an_index_that_is_damaged_or_of_another_version(ragctx: Command, brine: Path, damage: object) -> None:
    assert ragctx("build-index", "--corpus", brine, "--out", "idx").status == 0
    folder = next(path for path in (ragctx.folder / "idx").iterdir() if path.is_dir())
    damage(folder)  # type: ignore[operator]
    outcome = ragctx("context", "--task", TASK, "--index", "idx", "--manifest", "m.json")
    assert outcome.status == 1
    assert outcome.error.startswith("idx")
    assert "ragctx build-index" in outcome.error
    assert not (ragctx.folder / "m.json").exists()


def test_a_full_disk_leaves_the_manifest_that_was_there(small: Command) -> None:
    (small.folder / "m.json").write_text("before")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = subprocess.run(
        small.words("context", "--task", TASK, "--manifest", "m.json"),
        cwd=small.folder,
        env=small.environment,
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ragctx: m.json: cannot write: ") and done.stderr.count("\n") == 1
    assert [(path.name, path.read_text()) for path in small.folder.iterdir()] == [("m.json", "before")]


def test_arguments_that_are_no_text(small: Command) -> None:
    outcome = small.shell("ragctx context --task \"$(printf 'caf\\351 brine')\" --manifest m.json --json")
    assert (outcome.status, outcome.err) == (0, "")
    assert json.loads(outcome.out)["manifest"] == json.loads((small.folder / "m.json").read_text())
    (small.folder / "odd\udce9.py").write_text(GOOD)
    outcome = small.shell("ragctx context odd*.py --no-trace --manifest m.json")
    assert outcome.status == 0
    assert "## The workload: odd\ufffd\n" in outcome.out
