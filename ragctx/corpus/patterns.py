"""Regular expressions that cannot hang: the same answers as `re`, in time linear in the text.

`re` backtracks, so a pattern such as `(a|aa)+$`, or four `.*` in a row, can take longer than anyone waits on an error
text that nobody chose. A trigger therefore runs through `re` only where its cost is bounded (no open-ended repeat, or
one on a short text) and otherwise as a set of states stepped through the text once (Thompson's construction: R. Cox,
"Regular Expression Matching Can Be Simple And Fast", 2007). Patterns that this cannot express (back-references,
possessive and conditional groups, several open-ended repeats in one look-around) are allowed only where no open-ended
repeat is beside them.

Parse trees come from the standard library's own parser, `re._parser`, and single characters and anchors are compiled
from them by its own compiler, so their meaning is exactly that of `re`. Both modules are private: a test holds the
two engines against each other, so a Python that changes them is noticed.
"""

from __future__ import annotations

import copy
import importlib
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

_parser: Any = importlib.import_module("re._parser")
_compiler: Any = importlib.import_module("re._compiler")

_MAX_STATES = 800
_MAX_PATTERN_CHARS = 1_000
# Up to this many characters one open-ended repeat (quadratic at worst) is cheaper in `re` than in Python.
_SHORT_TEXT_CHARS = 2_000

# A pattern that can be read in more ways than two to this many, at one place, is not for backtracking either.
_MAX_CHOICE_BITS = 8

# How far an open-ended repeat in a look-ahead may look; a longer run is taken as if the text ended there.
_LOOK_CHARS = 1_000

_Test = Callable[[str], bool]
# Whether an anchor or a look-around holds at a place in the text.
_Condition = Callable[[str, int], bool]


class PatternError(ValueError):
    """A pattern that cannot be used, with the reason."""


class _Unsupported(Exception):
    """The parse tree holds something that a set of states cannot express."""


@dataclass(slots=True)
class _State:
    """One state: consumes a character if `test` is set, else moves on freely where `condition` holds."""

    test: _Test | None = None
    condition: _Condition | None = None
    next: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled trigger.

    Attributes:
        text: The regular expression.
        literal: The longest run of characters that every match contains, lower-cased where case is ignored.
        literal_chars: How many literal characters every match contains: how specific the pattern is.
    """

    text: str
    literal: str
    literal_chars: int
    _regex: re.Pattern[str] = field(repr=False)
    _repeats: int = field(repr=False)
    _states: tuple[_State, ...] = field(repr=False)

    def search(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in `text`."""
        if self.literal not in (text.lower() if self._regex.flags & re.IGNORECASE else text):
            return False
        if self._repeats == 0 or (self._repeats == 1 and len(text) <= _SHORT_TEXT_CHARS):
            return self._regex.search(text) is not None
        return run_states(self._states, text)


@lru_cache(maxsize=4096)
def compile_pattern(text: str) -> Pattern:
    """Compile a trigger.

    Raises:
        PatternError: If it is not a regular expression, matches everything, or cannot be run in bounded time.
    """
    if len(text) > _MAX_PATTERN_CHARS:
        raise PatternError(f"longer than {_MAX_PATTERN_CHARS} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            regex = re.compile(text)
        tree = _parser.parse(text)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise PatternError(f"not a regular expression: {error}") from None
    if regex.search("") is not None:
        raise PatternError("matches every text")
    repeats = _open_ended(tree) + (2 if _choice_bits(tree) > _MAX_CHOICE_BITS else 0)
    states: tuple[_State, ...] = ()
    if repeats:
        try:
            states = tuple(_Builder(tree).build(tree))
        except _Unsupported as error:
            raise PatternError(f"with {error} it could take forever; take that or the open-ended repeats out") from None
    runs = _literals(tree)
    ignore_case = bool(regex.flags & re.IGNORECASE)
    usable = [piece for run in runs for piece in _CASELESS.findall(run.lower())] if ignore_case else runs
    return Pattern(text, max(usable, key=len, default=""), sum(map(len, runs)), regex, repeats, states)


# Ignoring case, `re` equates i, s and k with letters that `str.lower` leaves alone.
_CASELESS = re.compile(r"[^isk\W]+", re.ASCII)


def _name(item: Any) -> str:
    return str(item[0])


_SINGLE = ("LITERAL", "NOT_LITERAL", "IN", "ANY")
_LOOK_AROUND = ("ASSERT", "ASSERT_NOT")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
# A repeat with a higher maximum than this counts as open-ended.
_OPEN_ENDED = 10


def _parts(name: str, value: Any) -> list[Any]:
    """Return the patterns inside one item."""
    if name == "BRANCH":
        return list(value[1])
    if name in ("SUBPATTERN", *_LOOK_AROUND, *_REPEATS):
        return [value[-1]]
    if name == "ATOMIC_GROUP":
        return [value]
    return [branch for branch in value[1:] if branch] if name == "GROUPREF_EXISTS" else []


def _open_ended(tree: Any) -> int:
    """Return how many open-ended repeats one match can pass; one with more than a character inside counts double."""
    total = 0
    for item in tree:
        name, value = _name(item), item[1]
        inner = max(map(_open_ended, _parts(name, value)), default=0)
        if name not in _REPEATS:
            total += inner
        elif value[1] == _parser.MAXREPEAT or value[1] > _OPEN_ENDED:
            total += 1 if _single(value[2]) else 2 + inner
        else:
            total += inner * value[1]
    return total


def _choice_bits(tree: Any) -> int:
    """Return the logarithm of how many ways the closed part of the pattern can be read, rounded up."""
    total = 0
    for item in tree:
        name, value = _name(item), item[1]
        parts = _parts(name, value)
        inner = max(map(_choice_bits, parts), default=0)
        if name == "BRANCH":
            total += inner + (len(parts) - 1).bit_length()
        elif name in _REPEATS and value[1] != _parser.MAXREPEAT:
            total += inner * value[1] + (value[1] - value[0]).bit_length()
        else:
            total += inner
    return total


def _single(body: Any) -> bool:
    """Whether the body is one character or class."""
    return len(body) == 1 and _name(body[0]) in _SINGLE


def _literals(tree: Any) -> list[str]:
    """Return the runs of literal characters that every match contains, in order."""
    runs, run = [], ""

    def end() -> None:
        nonlocal run
        if run:
            runs.append(run)
        run = ""

    for item in tree:
        name, value = _name(item), item[1]
        if name == "LITERAL":
            run += chr(value)
            continue
        end()
        if name == "SUBPATTERN" and not value[1] and not value[2]:
            runs += _literals(value[-1])
        elif name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] >= 1:
            runs += _literals(value[2])
        elif name == "BRANCH":
            runs_by_branch = [_literals(branch) for branch in value[1]]
            shortest = min(runs_by_branch, key=lambda branch: sum(map(len, branch)))
            if all(branch == shortest for branch in runs_by_branch):
                runs += shortest
    end()
    return runs


_FEATURES = {
    "ASSERT": "several open-ended repeats in look-around",
    "ASSERT_NOT": "several open-ended repeats in look-around",
    "ATOMIC_GROUP": "an atomic group",
    "GROUPREF": "a back-reference",
    "GROUPREF_EXISTS": "a conditional group",
    "POSSESSIVE_REPEAT": "a possessive repeat",
}


class _Builder:
    """Turns a parse tree into states; state 0 starts, the last one accepts."""

    def __init__(self, tree: Any) -> None:
        self._states: list[_State] = []
        self._parse_state = tree.state
        self._flags = int(tree.state.flags)

    def build(self, tree: Any) -> list[_State]:
        start = self._add()
        end = self._sequence(tree, start)
        self._states[end].next.append(self._add())
        return self._states

    def _add(self, test: _Test | None = None, condition: _Condition | None = None) -> int:
        if len(self._states) >= _MAX_STATES:
            raise _Unsupported(f"more than {_MAX_STATES} states")
        self._states.append(_State(test, condition))
        return len(self._states) - 1

    def _link(self, source: int, target: int) -> int:
        self._states[source].next.append(target)
        return target

    def _sequence(self, tree: Any, at: int) -> int:
        for item in tree:
            at = self._item(_name(item), item[1], at)
        return at

    def _item(self, name: str, value: Any, at: int) -> int:
        """Append one item after state `at`; return the free state after it."""
        if name in _SINGLE:
            consuming = self._link(at, self._add(test=self._test(name, value)))
            return self._link(consuming, self._add())
        if name == "AT" or (name in _LOOK_AROUND and _open_ended(value[1]) <= 1):
            conditional = self._link(at, self._add(condition=self._condition(name, value)))
            return self._link(conditional, self._add())
        if name == "SUBPATTERN":
            outside = self._flags
            self._flags = (outside | value[1]) & ~value[2]
            at = self._sequence(value[-1], at)
            self._flags = outside
            return at
        if name == "BRANCH":
            end = self._add()
            for branch in value[1]:
                first = self._link(at, self._add())
                self._link(self._sequence(branch, first), end)
            return end
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeat(value[0], value[1], value[2], at)
        raise _Unsupported(_FEATURES.get(name, name.lower()))

    def _repeat(self, low: int, high: Any, body: Any, at: int) -> int:
        for _ in range(low):
            at = self._sequence(body, at)
        if high == _parser.MAXREPEAT:
            loop = self._link(at, self._add())
            self._link(self._sequence(body, loop), loop)
            return self._link(loop, self._add())
        end = self._add()
        for _ in range(high - low):
            self._link(at, end)
            at = self._sequence(body, self._link(at, self._add()))
        return self._link(at, end)

    def _test(self, name: str, value: Any) -> _Test:
        match = self._compile(name, value).match
        known: dict[str, bool] = {}

        def test(char: str) -> bool:
            answer = known.get(char)
            if answer is None:
                answer = known[char] = match(char) is not None
            return answer

        return test

    def _condition(self, name: str, value: Any) -> _Condition:
        match = self._compile(name, value).match
        if name == "AT" or not _open_ended(value[1]):
            return lambda text, at: match(text, at) is not None
        return lambda text, at: match(text, at, at + _LOOK_CHARS) is not None

    def _compile(self, name: str, value: Any) -> re.Pattern[str]:
        """Return one item of the tree as a pattern of its own."""
        item = (getattr(_parser, name), value)
        state = copy.copy(self._parse_state)
        state.flags = self._flags
        compiled: re.Pattern[str] = _compiler.compile(_parser.SubPattern(state, [item]))
        return compiled


def run_states(states: Sequence[_State], text: str) -> bool:
    """Return whether the states accept anywhere in `text`, in one pass over it."""
    accept = len(states) - 1
    active: list[int] = []
    for at in range(len(text) + 1):
        after = text[at] if at < len(text) else ""
        seen = {0, *active}
        stack = [0, *active]
        consuming = []
        while stack:
            number = stack.pop()
            if number == accept:
                return True
            state = states[number]
            if state.test is not None:
                consuming.append(state)
                continue
            if state.condition is not None and not state.condition(text, at):
                continue
            for following in state.next:
                if following not in seen:
                    seen.add(following)
                    stack.append(following)
        if after == "":
            return False
        active = [state.next[0] for state in consuming if state.test is not None and state.test(after)]
    return False
