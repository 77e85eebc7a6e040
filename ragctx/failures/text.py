"""From the text of an exception to the kind of failure, and to the line of it that a reader needs.

Exceptions arrive as text (type name, message, traceback) from child processes that may run another JAX, so a kind is
found by words: `rules.RULES`, the first that matches.
"""

from __future__ import annotations

import re

from ragctx.failures.kinds import FailureKind as _K
from ragctx.failures.rules import BY_STAGE, BY_TYPE, IN_INDEX_MAP, IN_KERNEL_CALL, RULES

# "f() takes 2 positional arguments but 3 were given" and its kin.
_CALL = re.compile(
    r"(?P<name>[\w.<>]+)\(\) (takes|missing \d+|got (an unexpected keyword|multiple values|some positional))"
)
_FRAME = re.compile(
    r'^ *File "(?P<file>[^"]*)", line \d+, in (?P<function>\S+)(?:\n +(?!File ")(?P<code>\S.*))?', re.MULTILINE
)
_LIBRARY = re.compile(r"[/\\](site-packages|dist-packages)[/\\]|^<frozen|[/\\]functools\.py$")
_OPERATION = re.compile(r"\n\s*(The MLIR operation involved|see current operation):")
_INDEX_MAP_NAME = re.compile(r"<lambda>$|index|_map\b|map_")


def classify(exception_type: str, message: str, *, stage: str, traceback: str = "") -> _K:
    """Return the kind of a failure from the text of the exception that ended a stage.

    Args:
        exception_type: Name of the exception's class, such as `ValueError`.
        message: Its text, whole: of what the compiler says, the status and all that follows.
        stage: The stage it ended, such as `trace`.
        traceback: Its formatted traceback. With JAX's own frames (JAX_TRACEBACK_FILTERING=off in the child) it tells an
            index map from a kernel where both raise the same words; without one, names decide.
    """
    call = _CALL.match(message) if exception_type == "TypeError" else None
    if call:
        return _call_kind(call["name"], message, traceback)
    words = _without_program(message)
    for rule in RULES:
        if rule.matches(exception_type, words, stage, traceback):
            return rule.kind
    if stage in BY_STAGE:
        return BY_STAGE[stage]
    return BY_TYPE.get(exception_type, _K.OTHER) if stage in ("trace", "lower") else _K.OTHER


def _without_program(message: str) -> str:
    """Return a compiler's message without the operation it quotes but for its name: operands name much else."""
    head, _, operation = _OPERATION.sub("\0", message, count=1).partition("\0")
    name = re.search(r'"([\w.]+)"', operation)
    return f"{head}\n{name[1]}" if name else head


_NO_LINE = re.compile(
    r"^(-{5,}|For simplicity, JAX has removed|The (stack trace|preceding stack trace|above exception)|Set JAX_TRACEBACK"
    r"|jax\.errors\.SimplifiedTraceback|Traceback \(most recent call last\))"
)
_DETAILS = re.compile(r"^.*internal verification error.*Error details: *")
_PLEASE = re.compile(r"\.? *Please (file|report) .{0,20}(issue|bug)\S* .*$")
_STATUS = re.compile(r"^(INTERNAL|INVALID_ARGUMENT|UNIMPLEMENTED|FAILED_PRECONDITION|UNKNOWN|ABORTED|OUT_OF_RANGE): ")
# Where MLIR saw the error: nested call sites, or text with line and column.
_DIAGNOSTIC = re.compile(r'^error: (?:".*\): |"[^"]*"(?::\d+)*: |)')
_INNER_ERROR = re.compile(r"^(?:[\w.]+\.)?\w*(?:Error|Exception): .+", re.MULTILINE)


def first_line(message: str) -> str:
    """Return the one line of an exception's text that says what is wrong, or "" if there is none.

    It is without JAX's notes on its traceback, the request to file a bug, and the status that carries no detail; a line
    that only announces the next is joined with it; of an error raised inside an interpreted kernel it is the inner one.
    """
    if "Traceback (most recent call last)" in message:
        inner = _INNER_ERROR.findall(message)
        if inner:
            return str(inner[-1]).strip()
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    lines = [line for line in lines if not _NO_LINE.search(line)]
    if not lines:
        return ""
    line = _STATUS.sub("", _DETAILS.sub("", lines[0]))
    for following in lines[1:3]:
        if not line.endswith(":"):
            break
        line = f"{line} {_DIAGNOSTIC.sub('', following)}"
    return _PLEASE.sub("", line).strip()


def _call_kind(name: str, message: str, traceback: str) -> _K:
    """Return the kind of a call with arguments that the function does not take, by who called it."""
    last = name.rpartition(".")[2]
    if name == "workload":
        return _K.ENTRY_POINT
    if last in ("__init__", "__new__", "__call__") or name.startswith(
        ("_emit_pipeline.", "emit_pipeline.", "pallas_call.")
    ):
        return _K.API_KEYWORD
    frames = list(_FRAME.finditer(traceback))
    own = [number for number, frame in enumerate(frames) if not _LIBRARY.search(frame["file"])]
    below = ""
    if own:
        below = traceback[frames[own[-1]].end() :] if own[-1] + 1 < len(frames) else ""
        if re.search(IN_INDEX_MAP, below):
            return _K.INDEX_MAP
        if re.search(IN_KERNEL_CALL, below):
            return _K.KERNEL_SIGNATURE
        if re.search(rf"\w\.{re.escape(last)}\(", frames[own[-1]]["code"] or ""):
            return _K.API_KEYWORD
    if _INDEX_MAP_NAME.search(name):
        return _K.INDEX_MAP
    if "<locals>" in name or "kernel" in name:
        return _K.KERNEL_SIGNATURE
    if own:
        return _K.API_KEYWORD if below else _K.KERNEL_SIGNATURE
    return _K.API_KEYWORD if "keyword" in message else _K.KERNEL_SIGNATURE
