"""How well the pages that a task needs are found, held so that it does not get worse unseen.

Measured by evaluation/retrieval/in_house.py at 8,000 tokens when this was written: ragctx finds 76.4 % of
the needed pages of evaluation/in-house and completes 9 of 40 tasks; plain BM25 over words finds 53.2 % and completes 4.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def in_house(checkout: Path) -> ModuleType:
    path = checkout / "evaluation" / "retrieval" / "in_house.py"
    spec = importlib.util.spec_from_file_location("retrieval_in_house", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by its name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def finder(in_house: ModuleType, tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    return in_house.ragctx_finder(in_house.HERE / "docs", tmp_path_factory.mktemp("in-house"))


def test_what_tasks_need_is_found(in_house: ModuleType, finder) -> None:  # type: ignore[no-untyped-def]
    """Every prefix is within its budget too, or the finder raises."""
    tasks = in_house.load_tasks(in_house.HERE / "tasks.yaml")
    assert len(tasks) == 40
    ours = in_house.measure(tasks, 8000, finder)
    plain = in_house.measure(tasks, 8000, in_house.plain_finder(in_house.HERE / "docs"))
    assert ours.found >= 0.73
    assert ours.complete >= 7
    assert plain.found <= 0.55
    assert ours.tasks == plain.tasks == 40


def test_more_tokens_find_more_and_fewer_are_kept_to(in_house: ModuleType, finder) -> None:  # type: ignore[no-untyped-def]
    tasks = in_house.load_tasks(in_house.HERE / "tasks.yaml")[:10]
    found = [in_house.measure(tasks, budget, finder).found for budget in (500, 2000, 8000, 32_000)]
    assert found == sorted(found)
    assert found[0] < found[-1]


def test_the_measure_counts_needed_pages(in_house: ModuleType) -> None:
    tasks = [
        in_house.Task("one", "text", frozenset({"a", "b"})),
        in_house.Task("two", "text", frozenset({"a"})),
        in_house.Task("three", "text", frozenset({"c"})),
    ]
    score = in_house.measure(tasks, 10, lambda text, budget: {"a", "z"})
    assert (score.found, score.complete, score.tasks) == (0.5, 1, 3)
    assert score.missed == {"one": ["b"], "three": ["c"]}


def test_plain_bm25_takes_the_best_while_they_fit(in_house: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("brine brine brine " + "filler " * 400)
    (tmp_path / "short.md").write_text("the brine of a vat")
    (tmp_path / "other.md").write_text("nothing of the kind")
    (tmp_path / "another.md").write_text("nor here either")
    (tmp_path / "last.md").write_text("or in this one")
    find = in_house.plain_finder(tmp_path)
    assert find("brine", 8000) == {"long.md", "short.md"}
    assert find("brine", 100) == {"short.md"}
    assert find("brine", 2) == set()
