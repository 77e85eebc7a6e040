"""How well `ragctx context --task` finds the pages a task needs, in documentation that no model knows.

    python -m evaluation.retrieval.in_house [--docs DIR --tasks FILE] [--budget N ...] [--json]

For each task of a folder of Markdown pages it builds a prefix at each budget and counts the needed pages in its
manifest: *found* is the share of needed pages found, over all tasks; *complete* the number of tasks with every needed
page. Plain BM25 over words (the whole page as one document, best first until the budget is full) is measured beside
it in the same run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from rank_bm25 import BM25Okapi

from ragctx import tokens
from ragctx.context import ContextBuilder
from ragctx.corpus import Layer, load_corpus
from ragctx.index import build_index

HERE = Path(__file__).resolve().parent.parent / "in-house"


@dataclass(frozen=True, slots=True)
class Task:
    """A task in plain words and the pages it needs, as paths relative to the folder of pages."""

    id: str
    text: str
    needs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Score:
    """What one method found at one budget."""

    budget: int
    found: float
    complete: int
    tasks: int
    missed: dict[str, list[str]]


def load_tasks(path: Path) -> list[Task]:
    """Return the tasks of a tasks.yaml."""
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [Task(str(row["id"]), row["task"], frozenset(row["needs"])) for row in rows]


def measure(tasks: Sequence[Task], budget: int, find: Callable[[str, int], set[str]]) -> Score:
    """Score one method at one budget."""
    hit, complete, missed = 0, 0, {}
    for task in tasks:
        found = find(task.text, budget)
        hit += len(task.needs & found)
        lacking = sorted(task.needs - found)
        complete += not lacking
        if lacking:
            missed[task.id] = lacking
    needed = sum(len(task.needs) for task in tasks)
    return Score(budget, hit / needed, complete, len(tasks), missed)


def ragctx_finder(docs: Path, folder: Path) -> Callable[[str, int], set[str]]:
    """Return a function that gives the pages of a prefix."""
    corpus = load_corpus([Layer("in-house", docs, strict=False)])
    builder = ContextBuilder(build_index(corpus.documents, folder / "index"))

    def find(task: str, budget: int) -> set[str]:
        context = builder.prefix(task=task, budget=budget)
        if tokens.count(context.text) > budget:
            raise AssertionError(f"a prefix of {tokens.count(context.text)} tokens for a budget of {budget}")
        return {entry["file"] for entry in context.manifest["chunks"]}

    return find


def plain_finder(docs: Path) -> Callable[[str, int], set[str]]:
    """Return a function that gives the pages plain BM25 over words picks."""
    pages = {p.relative_to(docs).as_posix(): p.read_text(encoding="utf-8") for p in sorted(docs.rglob("*.md"))}
    names = list(pages)
    sizes = {name: tokens.count(text) for name, text in pages.items()}

    def words(text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())

    engine = BM25Okapi([words(text) for text in pages.values()])

    def find(task: str, budget: int) -> set[str]:
        scores = engine.get_scores(words(task))
        found: set[str] = set()
        left = budget
        for i in sorted(range(len(names)), key=lambda i: (-scores[i], names[i])):
            if scores[i] > 0 and sizes[names[i]] <= left:
                found.add(names[i])
                left -= sizes[names[i]]
        return found

    return find


def main() -> int:
    """Print the scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--docs", type=Path, default=HERE / "docs")
    parser.add_argument("--tasks", type=Path, default=HERE / "tasks.yaml")
    parser.add_argument("--budget", type=int, action="append")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--missed", action="store_true", help="list what each task lacks")
    options = parser.parse_args()
    tasks = load_tasks(options.tasks)
    with tempfile.TemporaryDirectory() as folder:
        methods = {"plain BM25": plain_finder(options.docs), "ragctx": ragctx_finder(options.docs, Path(folder))}
        rows = {
            name: [measure(tasks, budget, find) for budget in options.budget or (4000, 8000, 16000)]
            for name, find in methods.items()
        }
    if options.json:
        json.dump({n: [{"budget": s.budget, "found": s.found, "complete": s.complete} for s in r] for n, r in rows.items()}, sys.stdout)
        return 0
    print("| method | budget | needed pages found | tasks complete |")
    print("| --- | --- | --- | --- |")
    for name, scores in rows.items():
        for score in scores:
            print(f"| {name} | {score.budget:,} | {score.found:.1%} | {score.complete} of {score.tasks} |")
            if options.missed and name == "ragctx":
                for task, lacking in score.missed.items():
                    print(f"    {task}: {', '.join(lacking)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
