"""The in-house library: its pages, its tasks, and that each task's `needs` are the pages its solution rests on."""

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import yaml

from ragctx.tokens import count

HOME = Path(__file__).parents[2] / "evaluation" / "in-house"
DOCS = HOME / "docs"

# Attributes that solutions use and that belong to Python, not to the library.
PYTHON_ATTRIBUTES = frozenset({"append", "add"})

# Pages that help to find one's way and that no solution rests on, beside those of team/.
OVERVIEWS = frozenset(
    {"air/air.md", "getting-started.md", "glossary.md", "index.md", "testing/testing.md", "turner/turners.md"}
)

CODE_ROW = re.compile(r"^(?:\| |\*\*)(RH-\d{3})", re.MULTILINE)
ERROR_CODE = re.compile(r"RH-\d{3}")
FENCE = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
IMPORT = re.compile(r"^from rindhall\S* import .+$", re.MULTILINE)
INDENTED = re.compile(r"^ {4,}\S.*$", re.MULTILINE)
INLINE = re.compile(r"`([^`\n]+)`")
QUOTED = re.compile(r"""["']([^"'\n]+)["']""")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Page:
    """What a page documents: names in its code, values in its code, and code text as a whole."""

    names: frozenset[str]
    values: frozenset[str]
    code: str


@dataclass(frozen=True, slots=True)
class Task:
    """One entry of tasks.yaml."""

    id: str
    task: str
    needs: tuple[str, ...]
    solution: str


@dataclass(frozen=True, slots=True)
class Terms:
    """What a solution takes from the library."""

    modules: frozenset[str]
    names: frozenset[str]
    strings: frozenset[str]


def read_page(path: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    fenced = FENCE.findall(text)
    rest = FENCE.sub("", text)
    spans = INLINE.findall(rest)
    code = "\n".join([*fenced, *INDENTED.findall(rest), *spans])
    whole_spans = {span.strip("\"'") for span in spans}
    values = whole_spans | set(QUOTED.findall(code)) | set(ERROR_CODE.findall(text))
    return Page(frozenset(WORD.findall(QUOTED.sub(" ", code))), frozenset(values), code)


@cache
def pages() -> dict[str, Page]:
    return {path.relative_to(DOCS).as_posix(): read_page(path) for path in sorted(DOCS.rglob("*.md"))}


@cache
def tasks() -> tuple[Task, ...]:
    entries = yaml.safe_load((HOME / "tasks.yaml").read_text(encoding="utf-8"))
    return tuple(Task(entry["id"], entry["task"], tuple(entry["needs"]), entry["solution"]) for entry in entries)


@cache
def all_values() -> frozenset[str]:
    return frozenset().union(*(page.values for page in pages().values()))


def imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "rindhall":
            for alias in node.names:
                yield node.module, alias.name


def keywords(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            to_python = isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)
            yield from (word.arg for word in node.keywords if word.arg and not to_python)


def terms(solution: str, given: str = "") -> Terms:
    """What `solution` takes from the library, leaving out strings that `given` (the task) already tells."""
    tree = ast.parse(solution)
    pairs = list(imported(tree))
    names = {name for _, name in pairs} | set(keywords(tree))
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} - PYTHON_ATTRIBUTES
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    told = {string for string in strings if re.search(rf"(?<!\w){re.escape(string)}(?!\w)", given)}
    modules = {module if module != "rindhall" else f"rindhall.{name}" for module, name in pairs}
    return Terms(frozenset(modules), frozenset(names), frozenset((strings & all_values()) - told))


def phrases(solution: str) -> frozenset[str]:
    """Pairs of neighbouring words in the solution's strings, by which text in another language is recognised."""
    strings = (node.value for node in ast.walk(ast.parse(solution)) if isinstance(node, ast.Constant))
    words = (string.split() for string in strings if isinstance(string, str))
    return frozenset(f"{a} {b}" for line in words for a, b in zip(line, line[1:], strict=False))


def undocumented(task: Task) -> list[str]:
    """What the solution uses and none of the needed pages documents."""
    needed = [pages()[path] for path in task.needs]
    used = terms(task.solution, task.task)
    missing = [name for name in used.names if not any(name in page.names for page in needed)]
    missing += [string for string in used.strings if not any(string in page.values for page in needed)]
    missing += [module for module in used.modules if not any(module in page.code for page in needed)]
    return sorted(missing)


def contributions(task: Task, path: str) -> list[str]:
    """What the solution uses that stands on this needed page and on no other needed page of the task."""
    here = pages()[path]
    others = [pages()[other] for other in task.needs if other != path]
    used = terms(task.solution, task.task)
    own = [n for n in used.names if n in here.names and not any(n in page.names for page in others)]
    own += [s for s in used.strings if s in here.values and not any(s in page.values for page in others)]
    own += [p for p in phrases(task.solution) if p in here.code and not any(p in page.code for page in others)]
    return sorted(own)


def test_counts_and_sizes_of_pages() -> None:
    assert len(pages()) == 114
    sizes = [count(path.read_text(encoding="utf-8")) for path in sorted(DOCS.rglob("*.md"))]
    assert 40_000 <= sum(sizes) <= 50_000
    assert min(sizes) >= 150
    assert max(sizes) <= 1_500


def test_pages_are_plain_markdown_with_one_title() -> None:
    for path in sorted(DOCS.rglob("*")):
        assert path.is_dir() or path.suffix == ".md", path
    for path in sorted(DOCS.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# "), path
        outside_code = FENCE.sub("", text)
        assert len(re.findall(r"^# ", outside_code, re.MULTILINE)) == 1, path
        assert text.endswith("\n") and not text.endswith("\n\n"), path


def test_relative_links_lead_somewhere() -> None:
    found = 0
    for path in sorted(DOCS.rglob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8")):
            found += 1
            assert (path.parent / target).is_file(), f"{path}: {target}"
    assert found == 20


def test_examples_on_pages_are_python() -> None:
    for path in sorted(DOCS.rglob("*.md")):
        for block in re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            if "->" not in block and "*, " not in block:
                ast.parse(block)


def test_there_are_forty_tasks_with_distinct_ids() -> None:
    entries = yaml.safe_load((HOME / "tasks.yaml").read_text(encoding="utf-8"))
    assert len(entries) == 40
    assert all(set(entry) == {"id", "task", "needs", "solution"} for entry in entries)
    assert len({task.id for task in tasks()}) == 40
    assert len({task.task for task in tasks()}) == 40
    assert all(re.fullmatch(r"[a-z0-9-]+", task.id) for task in tasks())


def test_needs_are_spread() -> None:
    needed = {path for task in tasks() for path in task.needs}
    per_task = [len(task.needs) for task in tasks()]
    assert min(per_task) >= 3
    assert max(per_task) <= 8
    assert 5.0 <= sum(per_task) / len(per_task) <= 6.0
    unneeded = set(pages()) - needed
    assert {path for path in unneeded if not path.startswith("team/")} == OVERVIEWS
    assert {path for path in pages() if path.startswith("team/")} == unneeded - OVERVIEWS


def test_each_name_belongs_to_one_module() -> None:
    blocks = [block for path in sorted(DOCS.rglob("*.md")) for block in IMPORT.findall(path.read_text("utf-8"))]
    homes: dict[str, set[str]] = {}
    for source in [*blocks, *(task.solution for task in tasks())]:
        for module, name in imported(ast.parse(source)):
            homes.setdefault(name, set()).add(module)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}
    assert len(homes) == 107


def test_each_error_code_is_told_on_one_page_only() -> None:
    told = [
        (code, path.name)
        for path in sorted(DOCS.glob("errors/*-errors.md"))
        for code in CODE_ROW.findall(path.read_text("utf-8"))
    ]
    codes = [code for code, _ in told]
    assert len(codes) == len(set(codes)) == 75
    families = {(code[3], name) for code, name in told}
    assert len(families) == 9


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.id)
def test_needs_exist_sorted_and_once(task: Task) -> None:
    assert list(task.needs) == sorted(set(task.needs))
    assert [path for path in task.needs if path not in pages()] == []


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.id)
def test_solution_defines_the_function_the_task_names(task: Task) -> None:
    named = re.search(r"`([a-z_]+)\(([a-z, ]*)\)`", re.sub(r"We have .*?Write", "Write", task.task, flags=re.DOTALL))
    assert named is not None
    functions = {node.name: node for node in ast.parse(task.solution).body if isinstance(node, ast.FunctionDef)}
    arguments = [argument.arg for argument in functions[named[1]].args.args]
    assert arguments == [word for word in named[2].split(", ") if word]
    assert 7 <= len(task.solution.splitlines()) <= 30


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.id)
def test_needed_pages_document_all_that_the_solution_uses(task: Task) -> None:
    assert undocumented(task) == []


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.id)
def test_each_needed_page_contributes_something_of_its_own(task: Task) -> None:
    assert [path for path in task.needs if not contributions(task, path)] == []


def test_the_check_notices_a_missing_and_a_superfluous_page() -> None:
    task = next(task for task in tasks() if task.id == "wrong-account")
    fewer = Task(task.id, task.task, task.needs[:-1], task.solution)
    assert undocumented(fewer) == ["rindhall.units", "to_mil"]
    more = Task(task.id, task.task, (*task.needs, "watch/watch.md"), task.solution)
    assert undocumented(more) == []
    assert contributions(more, "watch/watch.md") == []
