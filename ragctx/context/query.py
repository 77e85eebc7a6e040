"""What to search for: the weighted terms of a workload, a task or an error."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ragctx.corpus import Document
from ragctx.index import Index
from ragctx.workload import WorkloadFacts

_ERROR_HEAD, _ERROR_TAIL = 12, 30
_PART_CHARACTERS = 32_768
# A kernel computes a convolution as matmuls: Pallas lowers none for the TPU (rule/primitive-without-lowering).
_COMPUTED_AS = {"conv_general_dilated": "dot_general matmul"}
_FRAME = re.compile(r'^\s*File "[^"\n]*", line \d+|^\s*[~^]+\s*$|^-{5,}$')


def workload_terms(index: Index, facts: WorkloadFacts) -> dict[str, int]:
    """Return the weighted terms of a workload: words of the task, operators, primitives, identifiers, dtypes, shapes.

    What the program does (operators, primitives) weighs more than how its author named things; a term in several
    places keeps its largest weight.
    """
    parts: list[tuple[str, int]] = [
        (" ".join(facts.operators), 3),
        (" ".join(words for primitive, words in _COMPUTED_AS.items() if primitive in facts.primitives), 3),
        (" ".join(sorted(facts.primitives)), 2),
        (facts.task, 2),
        (facts.name.replace("_", " "), 2),
        ("\n".join(facts.identifiers), 1),
        (" ".join(sorted({array.dtype for array in (*facts.inputs, *facts.outputs)})), 1),
        ("\n".join(_shape(array.shape) for array in (*facts.inputs, *facts.outputs)), 1),
        ("\n".join(facts.data_dependent), 2),
    ]
    return _weighted(index, parts)


def bounded(text: str) -> str:
    """Return a text short enough to be searched for at once: its beginning and its end.

    What people ask stands there; what lies between in a prompt of megabytes is what they pasted.
    """
    if len(text) <= 2 * _PART_CHARACTERS:
        return text
    return f"{text[:_PART_CHARACTERS]}\n{text[-_PART_CHARACTERS:]}"


def task_terms(index: Index, task: str) -> dict[str, int]:
    """Return the weighted terms of a task in plain words."""
    return index.query(task)


def error_terms(index: Index, error: str) -> dict[str, int]:
    """Return the weighted terms of an error text, without the frames of its traceback."""
    return index.query(error_core(error), error=True)


def error_core(error: str) -> str:
    """Return the lines of an error that say what is wrong: no frame headers, the head and the tail of a long one."""
    lines = [line for line in error.splitlines() if line.strip() and not _FRAME.match(line)]
    if len(lines) > _ERROR_HEAD + _ERROR_TAIL:
        lines = lines[:_ERROR_HEAD] + lines[-_ERROR_TAIL:]
    return "\n".join(lines)


def _weighted(index: Index, parts: Iterable[tuple[str, int]]) -> dict[str, int]:
    terms: dict[str, int] = {}
    for text, factor in parts:
        if text.strip():
            for term, weight in index.query(text).items():
                terms[term] = max(terms.get(term, 0), weight * factor)
    return terms


def _shape(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, shape)) + ")"


def for_target(document: Document, target: str) -> bool:
    """Return whether a document is for `target` (documents without targets are for all)."""
    return not document.targets or target in document.targets
