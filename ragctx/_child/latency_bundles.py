"""Reads the compiler's final schedule of one operation: its bundles, their scalar instructions, branches and DMAs.

libtpu prints it as `*-final_bundles.txt` (flags in latency_estimate.py). A bundle is what one cycle issues; a cycle in
which nothing is issued is an empty bundle, so bundles are cycles but for waits. Kept is what decides control flow and
data movement: scalar and predicate instructions, scalar memory, DMAs and waits. Vector work is only counted.

Values are in SSA form, so a name is defined once; a phi and the copies that feed it share a variable, as they share a
register. Nothing here imports JAX.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

# Bundles that a branch still issues after itself, on every target seen (v4 to tpu7x).
DELAY_SLOTS = 4

_BUNDLE = re.compile(r"^ *(?:0x[0-9a-f]+|0) +(?:(?:L[HBE]|P[BF]|CT) *)*:", re.M)
_REGION = re.compile(r"Start(?:/End empty)? region (\d+)")
_INSTRUCTION = re.compile(r"%(\w+) = (\S+)\s*(.*)", re.S)
_OPERAND = re.compile(r"inlined_call_operand\.(<[^>]*>|\w+) \[shape: (\w+)\[([\d,]*)\][^\]]*?index: (\d+)")
_NAMED = re.compile(r"/\*(\w+)=\*/")
_PREDICATE = re.compile(r"\((!?)%(\w+)(?:, %(\w+))?\)(?:, )?")
_SCALAR = re.compile(r"[sp]\d")

# What may stand beside scalar work without changing control flow, data movement or time.
_IGNORED = re.compile(
    r"shalt\.|sfence|compiler-scheduling-barrier|vtrace|strace|sphi$|int_to_ptr\.|vsyncmov|vsettm|set\.|setrngseed|"
    r"(?!vsync|vwait|vdelay)v"
)


class Unsupported(Exception):
    """The schedule holds something that this reading of it cannot follow; the message says what."""


@dataclass(frozen=True, slots=True)
class Value:
    """An operand: the sum of variables, symbols (allocations) and a constant."""

    variables: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    constant: int = 0


@dataclass(frozen=True, slots=True)
class Instruction:
    """One scalar instruction.

    Attributes:
        name: What it defines, as a variable, or "".
        op: Its operation.
        operands: Positional operands.
        named: Operands with a name (`size_in_granules`, `predicate`).
        predicate: Variable that decides whether it happens, or "".
        negated: Whether it happens when the predicate is false.
        otherwise: Variable whose value it takes when it does not happen, or "" to keep what was there.
        text: The instruction as printed, for messages.
    """

    name: str
    op: str
    operands: tuple[Value, ...]
    named: dict[str, Value]
    predicate: str
    negated: bool
    otherwise: str
    text: str


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument of the operation: memory space, element type, dimensions and position."""

    space: str
    dtype: str
    shape: tuple[int, ...]
    index: int


@dataclass(slots=True)
class Schedule:
    """One operation's final schedule.

    Attributes:
        bundles: Scalar instructions of each bundle, in order; most bundles have none.
        regions: Bundle at which each numbered region starts.
        operands: Variables that hold the operation's arguments.
    """

    bundles: list[tuple[Instruction, ...]] = field(default_factory=list)
    regions: dict[int, int] = field(default_factory=dict)
    operands: dict[str, Operand] = field(default_factory=dict)


class _Names:
    """Which SSA names share a variable: union-find over phis and pointer casts."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def find(self, name: str) -> str:
        while (parent := self._parent.get(name, name)) != name:
            name = parent
        return name

    def join(self, first: str, others: Iterable[str]) -> None:
        for other in others:
            root, leaf = self.find(first), self.find(other)
            if root != leaf:
                self._parent[leaf] = root


def read(text: str) -> Schedule:
    """Return the schedule that `text` (a final_bundles.txt) holds.

    Raises:
        Unsupported: If there is no bundle in it.
    """
    starts = list(_BUNDLE.finditer(text))
    if not starts:
        raise Unsupported("the schedule holds no bundles")
    schedule, names = Schedule(), _Names()
    raw: list[list[tuple[str, str, str]]] = []
    for number, (start, stop) in enumerate(zip(starts, [*starts[1:], None], strict=True)):
        body = text[start.end() : stop.start() if stop else len(text)]
        for region in _REGION.findall(body):
            schedule.regions.setdefault(int(region), number)
        raw.append(_instructions(body, schedule))
        for name, op, rest in raw[-1]:
            if op == "sphi" or op.startswith("int_to_ptr."):
                names.join(name, re.findall(r"%(\w+)", rest))
    schedule.operands = {names.find(name): operand for name, operand in schedule.operands.items()}
    for bundle in raw:
        parsed = [_parse(name, op, rest, names) for name, op, rest in bundle if not _IGNORED.match(op)]
        schedule.bundles.append(tuple(_reads_first(parsed)))
    return schedule


def _instructions(body: str, schedule: Schedule) -> list[tuple[str, str, str]]:
    """Return (name, operation, rest) of the scalar instructions of one bundle; notes the operands."""
    found = []
    for piece in body.split(" ;;  "):
        piece = piece.strip().lstrip("> ").lstrip("{ ")
        match = _INSTRUCTION.match(piece)
        if match is None:
            continue
        name, op, rest = match.groups()
        if op.startswith("inlined_call_operand"):
            if operand := _OPERAND.search(piece):
                space, dtype, shape, index = operand.groups()
                dimensions = tuple(int(d) for d in shape.split(",") if d)
                schedule.operands[name] = Operand(space, dtype, dimensions, int(index))
            continue
        if _SCALAR.match(name) or not op.startswith("v") or op.startswith(("vsync", "vwait", "vdelay")):
            found.append((name, op, rest))
    return found


def _parse(name: str, op: str, rest: str, names: _Names) -> Instruction:
    text = f"{op} {rest}".split("/*")[0] if op.startswith("shalt") else f"{op} {rest}"
    rest = re.sub(r"/\*.*?\*/", "", _NAMED.sub(r"\1=", rest), flags=re.S)
    rest = re.sub(r"/\*.*", "", rest, flags=re.S).strip().rstrip("}").strip()
    rest = re.sub(r"^\[thread:[^\]]*\]\s*", "", rest)
    predicate = negated = otherwise = ""
    if match := _PREDICATE.search(rest):
        negated, predicate, otherwise = match.group(1), match.group(2), match.group(3) or ""
        rest = (rest[: match.start()] + rest[match.end() :]).strip()
    if op == "sst":  # the address and what is stored there stand side by side
        rest = re.sub(r"^(\[smem:\[[^\]]*\]\])\s*", r"\1, ", rest)
    operands, named = [], {}
    for part in _split(rest):
        label, equals, value = part.partition("=")
        if equals:
            named[label.strip()] = _value(value.strip(), names)
        else:
            operands.append(_value(part, names))
    return Instruction(
        name=names.find(name) if _SCALAR.match(name) or op.startswith("sdivrem") else "",
        op=f"{op}.rem" if op.startswith("sdivrem") and "kRem" in text else op,
        operands=tuple(operands),
        named=named,
        predicate=names.find(predicate) if predicate else "",
        negated=bool(negated),
        otherwise=names.find(otherwise) if otherwise else "",
        text=" ".join(text.split())[:160],
    )


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def _value(text: str, names: _Names) -> Value:
    """Return an operand: `%s1`, `7`, `[#allocation3 + $0x1]`, `[smem:[%s1 + %s2]]`, `$region7`."""
    head = text.split()[0] if text.startswith("%") or re.match(r"-?\d", text) else text
    inner = re.sub(r"smem:|[\[\]]", "", head)
    variables, symbols, constant = [], [], 0
    for term in inner.split("+"):
        term = term.strip()
        if term.startswith("%"):
            variables.append(names.find(term[1:]))
        elif term.startswith("#"):
            symbols.append(term)
        elif match := re.fullmatch(r"\$?(-?(?:0x[0-9a-fA-F]+|\d+))", term):
            constant += int(match.group(1), 0)
        elif match := re.fullmatch(r"\$region(\d+)", term):
            constant = int(match.group(1))
        else:
            symbols.append(term)  # a float or a name that nothing depends on; whoever reads it gets "unknown"
    return Value(tuple(variables), tuple(symbols), constant)


def branch_target(schedule: Schedule, branch: Instruction) -> int:
    """Return the bundle a branch goes to: libtpu 0.0.42 prints `target = $region7`, 0.0.17 `region = 7`.

    (0.0.17 also prints a `bundleno`; it counts bundles that the text does not show.)

    Raises:
        Unsupported: If the schedule has no such place.
    """
    if branch.op == "sbr.rel":
        for label in ("target", "region"):
            if label in branch.named and branch.named[label].constant in schedule.regions:
                return schedule.regions[branch.named[label].constant]
    raise Unsupported(f"a branch to an unknown place: {branch.text}")


def reads(instruction: Instruction) -> set[str]:
    """Return the variables an instruction reads."""
    found = {v for value in (*instruction.operands, *instruction.named.values()) for v in value.variables}
    return found | ({instruction.predicate, instruction.otherwise} - {""})


def _reads_first(bundle: list[Instruction]) -> list[Instruction]:
    """Order a bundle so that whoever reads a variable comes before whoever writes it: all of it happens at once."""
    waiting, ordered = list(bundle), []
    while waiting:
        for position, instruction in enumerate(waiting):
            rest = waiting[:position] + waiting[position + 1 :]
            if not instruction.name or not any(instruction.name in reads(other) for other in rest):
                ordered.append(waiting.pop(position))
                break
        else:
            raise Unsupported("two instructions of a bundle each read what the other writes")
    return ordered
