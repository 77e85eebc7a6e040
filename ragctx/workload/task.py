"""Facts of a task in plain words: the operators, names and pieces of code that occur in it."""

from __future__ import annotations

import re

from ragctx import targets
from ragctx.errors import RagctxError
from ragctx.workload.calls import PRIMITIVES_OF_CALL, usual_name
from ragctx.workload.facts import WorkloadFacts
from ragctx.workload.operators import recognise
from ragctx.workload.source import CodeUsage, parse, read_code

_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
_INSIDE_BACKTICKS = re.compile(r"`([^`\n]+)`")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]|[A-Z][a-z]+[A-Z]", re.ASCII)
_ABBREVIATIONS = frozenset({"e.g", "i.e", "a.k.a"})


def facts_from_task(text: str, *, target: str = targets.DEFAULT_TARGET) -> WorkloadFacts:
    """Return the facts of a task in plain words.

    Names are what looks like code: dotted chains, names with `_` or inner capitals, calls, and what stands in
    backticks. Fenced code that is Python is read as a workload's text is, with its import aliases.

    Raises:
        RagctxError: If the text is empty or the target unknown.
    """
    if not text.strip():
        raise RagctxError("the task is empty", remedy="say in words what is to be written")
    identifiers: dict[str, None] = {}
    primitives: dict[str, int] = {}
    words = _FENCE.sub("\n", text)
    for name in _names(words):
        identifiers.setdefault(name)
        for primitive in PRIMITIVES_OF_CALL.get(name, ()):
            primitives[primitive] = primitives.get(primitive, 0) + 1
    for code in _FENCE.findall(text):
        usage = _python(code)
        for name in usage.identifiers if usage else _names(code):
            identifiers.setdefault(name)
        for primitive, count in (usage.primitives if usage else {}).items():
            primitives[primitive] = primitives.get(primitive, 0) + count
    return WorkloadFacts(
        name="task",
        task=text.strip(),
        target=targets.get(target).name,
        primitives=dict(sorted(primitives.items())),
        identifiers=tuple(identifiers),
        operators=recognise([text]),
    )


def _python(code: str) -> CodeUsage | None:
    try:
        return read_code(parse(code, "task"))
    except RagctxError:
        return None


def _names(text: str) -> list[str]:
    quoted = [match.span(1) for match in _INSIDE_BACKTICKS.finditer(text)]
    names = []
    for match in _NAME.finditer(text):
        name, end = match.group(), match.end()
        inside = any(start <= match.start() < stop for start, stop in quoted)
        if (inside or _looks_like_code(name, called=text[end : end + 1] == "(")) and name.lower() not in _ABBREVIATIONS:
            names.append(usual_name(name))
    return names


def _looks_like_code(name: str, *, called: bool) -> bool:
    return called or "." in name or "_" in name.strip("_") or _CAMEL.search(name) is not None
