"""How well `ragctx context --task` finds the pages a task needs, in documentation that no model knows.

    python -m evaluation.retrieval.in_house [--docs DIR --tasks FILE] [--budget N ...]
    python -m evaluation.retrieval.in_house --all

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rank_bm25 import BM25Okapi

from ragctx import __version__, tokens
from ragctx.context import ContextBuilder
from ragctx.corpus import Layer, load_corpus
from ragctx.index import build_index

HERE = Path(__file__).resolve().parent.parent / "in-house"
_SETS = Path(__file__).resolve().parent / "sets"
SETS = {
    "rindhall": (HERE, "cheese caves; used to choose the signals and fit their weights"),
    "rigwright": (_SETS / "rigwright", "stage machinery; used to choose the signals and fit their weights"),
    "lineup": (_SETS / "lineup", "broadcast scheduling; used to choose the signals and fit their weights"),
    "meterline": (_SETS / "meterline", "metering and billing; used to choose what counts as a reference"),
    "crewdeck": (_SETS / "crewdeck", "crew planning; when first seen, before one change: 72.1%, 8 of 40"),
}


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


def table(title: str, rows: Mapping[str, Sequence[Score]]) -> list[str]:
    """Return one set's scores as Markdown."""
    lines = [
        f"## {title}",
        "",
        "| method | budget | needed pages found | tasks complete |",
        "| --- | --- | --- | --- |",
    ]
    for name, scores in rows.items():
        for s in scores:
            lines.append(f"| {name} | {s.budget:,} | {s.found:.1%} | {s.complete} of {s.tasks} |")
    return [*lines, ""]


def score(docs: Path, tasks: Sequence[Task], budgets: Sequence[int]) -> dict[str, list[Score]]:
    """Score both methods on one set."""
    with tempfile.TemporaryDirectory() as folder:
        methods = {"plain BM25": plain_finder(docs), "ragctx": ragctx_finder(docs, Path(folder))}
        return {name: [measure(tasks, budget, find) for budget in budgets] for name, find in methods.items()}


def main() -> int:
    """Print the scores of one set, or write those of all to evaluation/results/in-house.md."""
    parser = argparse.ArgumentParser(description="How well `ragctx context --task` finds the pages a task needs.")
    parser.add_argument("--docs", type=Path, default=HERE / "docs")
    parser.add_argument("--tasks", type=Path, default=HERE / "tasks.yaml")
    parser.add_argument("--budget", type=int, action="append")
    parser.add_argument("--all", action="store_true", help="every set; writes evaluation/results/in-house.md and .json")
    options = parser.parse_args()
    budgets = options.budget or [4000, 8000, 16000]
    if not options.all:
        print("\n".join(table(str(options.docs), score(options.docs, load_tasks(options.tasks), budgets))))
        return 0
    lines = [
        "# Pages found for tasks on documentation that no model knows",
        "",
        f"Made by `python -m evaluation.retrieval.in_house --all` with ragctx {__version__}. Each set is an invented",
        "library: about 110 short Markdown pages without front matter, 40 coding tasks in plain words, and the pages",
        "each task needs (by their authors' judgement, blind to the retriever). *Found* is the share of needed pages,",
        "*complete* the tasks with all of theirs. Plain BM25 takes whole pages, best first, over plain words.",
        "",
    ]
    results: dict[str, Any] = {}
    for name, (folder, note) in SETS.items():
        rows = score(folder / "docs", load_tasks(folder / "tasks.yaml"), budgets)
        lines += table(f"{name}: {note}", rows)
        results[name] = {
            m: [{"budget": s.budget, "found": round(s.found, 6), "complete": s.complete} for s in r]
            for m, r in rows.items()
        }
    out = HERE.parent / "results"
    (out / "in-house.md").write_text("\n".join(lines), encoding="utf-8")
    (out / "in-house.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
