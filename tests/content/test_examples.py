"""The example kernels: their form, and each compiled for its targets by the TPU compiler and run interpreted."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from ragctx import data, tokens
from ragctx.children import run_script
from ragctx.corpus import Kind, load_corpus
from ragctx.corpus.files import Layer
from ragctx.targets import TARGETS

CORPUS = data.corpus()
FILES = sorted((CORPUS / "examples").glob("*.py"))
SEEDS = [0, 1, 2]

FIRST_TWELVE = {
    "batched_matmul",
    "elementwise",
    "emit_pipeline",
    "flash_attention",
    "grid_reduction",
    "grouped_matmul",
    "manual_dma",
    "matmul",
    "prefetch_gather",
    "ragged_logsumexp",
    "rms_norm",
    "softmax",
}
KEYS = {"title", "tags", "primitives", "targets", "requires", "related", "source", "verified"}
MOST_TOKENS = 1500

# Names that earlier JAX versions had, from the table of renames; `gone in 0.10.2` each.
_DEAD = re.compile(
    r"TPUCompilerParams|TPUMemorySpace|TPUInterpretParams|pltpu\.(?:MemorySpace\.)?ANY\b|pl\.(?:load|store|swap|VMEM|SMEM"
    r"|Unblocked|unblocked|where|exp|max|sum|zeros|arange|iota|for_loop|static_range|program_ids|atomic_\w+"
    r"|max_contiguous)\b|pltpu\.(?:repeat|delay|run_scoped|CostEstimate|strided_load|KernelType|TensorCoreMesh"
    r"|enable_runtime_assert|BlockSpec|GridSpec|pallas_call|reciprocal|semaphore_\w+|DeviceIdType|HOST)\b|indexing_mode"
)


@dataclass(frozen=True, slots=True)
class Example:
    """An example taken apart."""

    path: Path
    text: str
    front: dict[str, Any]
    description: str

    @property
    def targets(self) -> list[str]:
        """Return the targets it is for."""
        return self.front.get("targets", list(TARGETS))


def read(path: Path) -> Example:
    text = path.read_text(encoding="utf-8")
    _, block, description = (ast.get_docstring(ast.parse(text), clean=False) or "").split("---\n", 2)
    return Example(path, text, yaml.safe_load(block), description.strip())


EXAMPLES = {path.stem: read(path) for path in FILES}


@pytest.fixture(params=sorted(EXAMPLES))
def example(request: pytest.FixtureRequest) -> Example:
    return EXAMPLES[request.param]


def check(path: Path, targets: list[str], *, seeds: list[int] = SEEDS, race_seed: int | None = 0) -> dict[str, Any]:
    """Return the child's answer on a file."""
    topologies = {target: TARGETS[target].topology for target in targets}
    request = {"file": str(path), "targets": topologies, "seeds": seeds, "race_seed": race_seed}
    result = run_script("check_example.py", request, timeout_s=600)
    assert result.answer, result.stderr
    answer: dict[str, Any] = result.answer
    return answer


@cache
def checked(name: str) -> dict[str, Any]:
    """Return the answer on an example of the corpus, asked once."""
    return check(EXAMPLES[name].path, EXAMPLES[name].targets)


def test_the_first_twelve_are_there() -> None:
    assert set(EXAMPLES) >= FIRST_TWELVE


def test_front_matter_has_known_keys_of_the_right_form(example: Example) -> None:
    front = example.front
    assert set(front) <= KEYS
    assert front.keys() >= {"title", "tags", "primitives", "requires", "source", "verified"}
    assert all(isinstance(word, str) for word in [*front["tags"], *front["primitives"]])
    assert set(example.targets) <= set(TARGETS) and example.targets
    assert set(front["verified"]) == {"jax", "libtpu"}
    assert 3 <= len(example.description.splitlines()) <= 8


def test_related_documents_are_there_or_name_what_the_code_uses(example: Example) -> None:
    for document in example.front.get("related", []):
        kind, _, slug = document.partition("/")
        if kind == "example":
            assert slug in EXAMPLES and slug != example.path.stem
        else:
            assert kind == "api"
            assert (CORPUS / "api" / f"{slug}.md").exists() or re.search(rf"(?<!\w){re.escape(slug)}\b", example.text)


def test_an_example_fits_a_prompt(example: Example) -> None:
    assert tokens.count(example.text) < MOST_TOKENS


def test_no_name_that_is_gone(example: Example) -> None:
    assert _DEAD.findall(example.text) == []


@pytest.mark.parametrize("gone", ["pltpu.TPUCompilerParams", "pltpu.ANY", "pl.load(x_ref", "pltpu.repeat", "pl.VMEM"])
def test_names_that_are_gone_are_recognised(gone: str) -> None:
    assert _DEAD.search(f"x = {gone}")


def test_an_example_is_a_workload_with_its_reference(example: Example) -> None:
    body = ast.parse(example.text).body
    functions = {node.name: [a.arg for a in node.args.args] for node in body if isinstance(node, ast.FunctionDef)}
    assert functions["workload"] == functions["reference"]
    assert functions["create_inputs"] == ["dtype", "seed"]
    constants = {
        t.id: node.value
        for node in body
        if isinstance(node, ast.Assign)
        for t in node.targets
        if isinstance(t, ast.Name)
    }
    config, small = ast.literal_eval(constants["CONFIG"]), ast.literal_eval(constants["CHECK"])
    assert set(small) <= set(config)
    assert all(small[key] <= config[key] for key in small)


def test_examples_load_as_documents_of_their_kind() -> None:
    documents = load_corpus([Layer("shipped", CORPUS)]).documents
    found = {d.id: d for d in documents if d.kind is Kind.EXAMPLE}
    assert set(found) == {f"example/{name}" for name in EXAMPLES}
    for name, example in EXAMPLES.items():
        document = found[f"example/{name}"]
        assert (document.title, document.language) == (example.front["title"], "python")
        assert document.targets == tuple(example.front.get("targets", ()))


@pytest.mark.slow
@pytest.mark.tpu_compiler
@pytest.mark.parametrize("target", list(TARGETS))
def test_an_example_compiles_for_its_targets(example: Example, target: str) -> None:
    if target not in example.targets:
        pytest.skip(f"{example.path.stem} is not for {target}, its front matter says")
    outcome = checked(example.path.stem)["compile"][target]
    assert outcome["passed"], outcome["message"]
    assert outcome["output_bytes"] > 0


@pytest.mark.slow
@pytest.mark.tpu_compiler
def test_an_example_equals_its_reference_in_interpret_mode(example: Example) -> None:
    answer = checked(example.path.stem)
    assert answer["error"] is None
    assert [(n["seed"], n["passed"], n["message"]) for n in answer["numerics"]] == [(seed, True, "") for seed in SEEDS]


@pytest.mark.slow
@pytest.mark.tpu_compiler
def test_an_example_has_no_race(example: Example) -> None:
    races = checked(example.path.stem)["races"]
    assert (races["passed"], races["message"]) == (True, "")


@pytest.mark.slow
@pytest.mark.tpu_compiler
def test_an_example_was_verified_with_what_is_installed(example: Example) -> None:
    versions = checked(example.path.stem)["versions"]
    assert example.front["verified"] == {name: versions[name] for name in ("jax", "libtpu")}


# What follows breaks examples and expects the checks to notice: each is one edit of a correct kernel.


def broken(tmp_path: Path, name: str, *edits: tuple[str, str]) -> Path:
    text = EXAMPLES[name].text
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = tmp_path / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.tpu_compiler
def test_an_illegal_block_fails_to_compile_and_no_other_target_is_lost(tmp_path: Path) -> None:
    path = broken(tmp_path, "softmax", ("block = min(rows, max(16, (2 << 20) // (4 * n) // 16 * 16))", "block = 12"))
    answer = check(path, ["v5e", "v6e"], seeds=[], race_seed=None)
    for target in ("v5e", "v6e"):
        assert answer["compile"][target]["passed"] is False
        assert "divisible by 8 and 128" in answer["compile"][target]["message"]


@pytest.mark.slow
@pytest.mark.tpu_compiler
def test_too_much_vmem_fails_on_the_target_that_lacks_it_only(tmp_path: Path) -> None:
    path = broken(tmp_path, "grouped_matmul")
    compiled = check(path, ["v4", "v6e"], seeds=[], race_seed=None)["compile"]
    assert compiled["v6e"]["passed"] is True
    assert compiled["v4"]["passed"] is False
    assert "vmem" in compiled["v4"]["message"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("matmul", "acc_ref[...] = jnp.zeros_like(acc_ref)", "pass"),  # an accumulator never cleared is NaN
        ("matmul", '"parallel", "parallel", "arbitrary"', '"parallel", "parallel", "parallel"'),
        ("ragged_logsumexp", "x = jnp.where(column < n, x, MASKED)", "pass"),  # an edge block read unmasked
        ("rms_norm", "jnp.mean(x * x,", "jnp.mean(jnp.abs(x),"),
    ],
)
def test_wrong_values_are_seen(tmp_path: Path, name: str, old: str, new: str) -> None:
    answer = check(broken(tmp_path, name, (old, new)), [], seeds=[0], race_seed=None)
    assert answer["error"] is None
    assert answer["numerics"][0]["passed"] is False
    assert "values differ" in answer["numerics"][0]["message"]


@pytest.mark.slow
def test_a_wrong_dtype_is_seen(tmp_path: Path) -> None:
    path = broken(
        tmp_path, "softmax", ("jax.ShapeDtypeStruct(x.shape, x.dtype)", "jax.ShapeDtypeStruct(x.shape, jnp.float32)")
    )
    answer = check(path, [], seeds=[0], race_seed=None)
    assert answer["numerics"][0]["message"] == "output 0 is float32[600, 1000], expected bfloat16[600, 1000]"


@pytest.mark.slow
def test_a_read_before_the_wait_is_a_race(tmp_path: Path) -> None:
    waits = "        copy(c).wait()\n        x = buffers[c % 2].astype(jnp.float32)\n"
    late = "        x = buffers[c % 2].astype(jnp.float32)\n        copy(c).wait()\n"
    answer = check(broken(tmp_path, "manual_dma", (waits, late)), [], seeds=[], race_seed=0)
    assert (answer["races"]["passed"], answer["races"]["message"]) == (False, "race detected")


@pytest.mark.slow
def test_a_block_out_of_range_is_the_answers_error(tmp_path: Path) -> None:
    answer = check(
        broken(
            tmp_path,
            "prefetch_gather",
            ("(table[s * per_sequence + p], 0, 0)", "(table[s * per_sequence + p] + 24, 0, 0)"),
        ),
        [],
        seeds=[0],
        race_seed=None,
    )
    assert answer["numerics"] == []
    assert answer["error"].startswith(("IndexError", "JaxRuntimeError", "XlaRuntimeError"))
