from __future__ import annotations

from ragctx.context.query import error_core, error_terms, for_target, task_terms, workload_terms
from ragctx.corpus import Document, Kind
from ragctx.index import Index
from ragctx.workload import ArrayFact, WorkloadFacts


def array(name: str, shape: tuple[int, ...], dtype: str) -> ArrayFact:
    return ArrayFact(name, shape, dtype, 0, False, 1, 1)


def test_a_term_keeps_the_largest_weight_of_the_places_it_stands_in(brine_index: Index) -> None:
    single = brine_index.query("tank")["tank"]
    facts = WorkloadFacts("yard_work", source="x", operators=("tank",), primitives={"tank": 9}, identifiers=("float",))
    terms = workload_terms(brine_index, facts)
    assert terms["tank"] == 3 * single
    assert terms["yard"] == 2 * brine_index.query("yard")["yard"]
    assert terms["float"] == brine_index.query("float")["float"]


def test_every_part_of_a_workload_is_searched_for(brine_index: Index) -> None:
    facts = WorkloadFacts(
        "name_here",
        task="docword",
        source="x",
        operators=("attention",),
        primitives={"dot_general": 2},
        inputs=(array("q", (8, 128), "bfloat16"),),
        outputs=(array("output", (4096,), "float32"),),
        identifiers=("jnp.einsum",),
        data_dependent=("gather indexed by pages",),
    )
    terms = workload_terms(brine_index, facts)
    expected = {"name", "docword", "attention", "dot_general", "bfloat16", "float32", "jnp.einsum", "gather", "pages"}
    assert {term for term in expected if not any(t == term or t.startswith(term) for t in terms)} == set()
    assert set(brine_index.query("(8, 128)")) <= set(terms)
    assert workload_terms(brine_index, WorkloadFacts("")) == {}


def test_a_convolution_is_searched_for_as_the_matmuls_that_compute_it(brine_index: Index) -> None:
    without = workload_terms(brine_index, WorkloadFacts("x", source="x", primitives={"add": 1}))
    terms = workload_terms(brine_index, WorkloadFacts("x", source="x", primitives={"conv_general_dilated": 1}))
    assert "matmul" not in without
    assert terms["matmul"] == 3 * brine_index.query("dot_general matmul")["matmul"]


def test_a_task_is_its_words(brine_index: Index) -> None:
    assert task_terms(brine_index, "read the level") == brine_index.query("read the level")


TRACEBACK = """Traceback (most recent call last):
  File "/home/me/kernel.py", line 12, in <module>
    workload(x)
    ~~~~~~~~^^^
--------------------
ValueError: the last two dimensions
"""


def test_frames_of_a_traceback_are_no_part_of_the_error(brine_index: Index) -> None:
    core = "Traceback (most recent call last):\n    workload(x)\nValueError: the last two dimensions"
    assert error_core(TRACEBACK) == core
    assert error_terms(brine_index, TRACEBACK) == brine_index.query(core, error=True)
    assert "kernel" not in " ".join(error_terms(brine_index, TRACEBACK))


def test_of_a_long_error_its_head_and_its_tail_count() -> None:
    lines = [f"line {number}" for number in range(100)]
    assert error_core("\n\n".join(lines)) == "\n".join([*lines[:12], *lines[70:]])
    assert error_core("\n".join(lines[:42])) == "\n".join(lines[:42])
    assert error_core(" \n\t\n") == ""


def test_documents_without_targets_are_for_all() -> None:
    for_all = Document("api/a", Kind.API, "a", "a")
    for_some = Document("api/b", Kind.API, "b", "b", targets=("v4", "v5p"))
    assert [for_target(for_all, "v6e"), for_target(for_some, "v6e"), for_target(for_some, "v4")] == [True, False, True]
