"""Times a whole compiled program: the operations of its HLO text in order, each by walking its final schedule.

An operation's schedule is the dump file that carries its name (an equivalent one's, where the compiler deduplicated).
Copies that run beside other operations (`copy-start` to `copy-done`) only take their share of HBM's time. Whatever has
neither a schedule nor no cost makes the whole program unsupported. Nothing here imports JAX.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from latency_bundles import Unsupported, read  # type: ignore[import-not-found]
from latency_walk import Machine, Walk, Walker  # type: ignore[import-not-found]

# Schedules that were read, by file and by the scalars that are known in it.
Walkers = dict[tuple[Path, tuple[tuple[int, tuple[int, ...]], ...]], Walker]

_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{$")
_OPERATION = re.compile(r"^\s+(?:ROOT )?%([\w.\-]+) = (.*)$")
_OPCODE = re.compile(r"(?:^|\s)([a-z][\w\-]*)\(")
_ARRAY = re.compile(r"([a-z]+\d*\w*)\[([\d,]*)\](\{[^}]*\})?")
_DUMP = re.compile(r"^\d+-(.+)-\d+-final_bundles\.txt$")
_TRIPS = re.compile(r'"?known_trip_count"?:?=?\{"n":"(\d+)"\}')
_CUT = re.compile(r"(.{40,})-\d{9,}$")
_NAME = re.compile(r"%([\w.\-]+)")

_FREE = frozenset(
    "parameter constant bitcast tuple get-tuple-element after-all opt-barrier partition-id replica-id add-dependency "
    "domain".split()
)
_COLLECTIVES = re.compile(r"(all-reduce|all-gather|all-to-all|reduce-scatter|collective-\w+|send|recv)\b")
# A custom call that only tells the compiler something.
_FREE_TARGETS = ("AllocateBuffer", "AssumeGatherIndicesInBound", "ConcatBitcast", "Sharding")
_SCALAR = re.compile(r"\w+\[(?:1(?:,1)*)?\]")
_SCALAR_OPERATIONS = frozenset(
    "copy add subtract multiply divide remainder maximum minimum compare select and or xor not negate convert "
    "bitcast-convert clamp reshape shift-left shift-right-logical shift-right-arithmetic sqrt rsqrt log exponential "
    "tanh power abs sign floor ceil".split()
)
_BITS = {"pred": 8, "bf16": 16}
_VECTOR = re.compile(r"[su]32\[\d*\]")
_LAYOUT = re.compile(
    r"[su](\d+)\[([\d,]*)\](?:\{([\d,]*)(?::(?:T\((?:(\d+),)?(\d+)\))?(?:\((?:\d+,)*?(\d+),1\))?[^}]*)?\})?$"
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One instruction of the HLO text.

    Attributes:
        name: Its name.
        opcode: What it is.
        operands: Names of its operands.
        shape: Its result's shape, as printed.
        text: The whole line.
    """

    name: str
    opcode: str
    operands: tuple[str, ...]
    shape: str
    text: str


@dataclass(slots=True)
class Program:
    """Computations by name, and which one is the entry."""

    computations: dict[str, list[Operation]] = field(default_factory=dict)
    entry: str = ""


@dataclass(slots=True)
class Timing:
    """What a program takes.

    Attributes:
        cycles: From start to end.
        operations: Per operation with a schedule: name, times it runs, and its walk.
        copied_bytes: Bytes of copies that run beside other operations.
    """

    cycles: float = 0.0
    operations: list[tuple[str, int, Walk]] = field(default_factory=list)
    copied_bytes: int = 0


def parse(text: str) -> Program:
    """Return the program that `compiled.as_text()` holds.

    Raises:
        Unsupported: If it has no entry computation.
    """
    program, current = Program(), None
    for line in text.splitlines():
        if match := _COMPUTATION.match(line):
            current = program.computations.setdefault(match.group(2), [])
            if match.group(1):
                program.entry = match.group(2)
        elif current is not None and (match := _OPERATION.match(line)):
            current.append(_operation(match.group(1), match.group(2)))
    if not program.entry:
        raise Unsupported("the HLO text has no entry computation")
    return program


def _operation(name: str, rest: str) -> Operation:
    # A tuple's shape holds spaces and parentheses, so the operation's name is looked for behind it.
    opcode = _OPCODE.search(rest, _closing(rest, 0) if rest.startswith("(") else 0)
    if opcode is None:
        raise Unsupported(f"an operation that cannot be read: {rest[:80]}")
    operands = rest[opcode.end() : _closing(rest, opcode.end() - 1)]
    return Operation(name, opcode.group(1), tuple(_NAME.findall(operands)), rest[: opcode.start()], rest)


def _closing(text: str, start: int) -> int:
    """Return the place behind the parenthesis that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at + 1
    return len(text)


def schedules(folder: Path, since: frozenset[str] = frozenset()) -> dict[str, Path]:
    """Return the final schedules under a dump folder by operation, but for the files named in `since`."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name not in since and (match := _DUMP.match(path.name)) and "schedule-analysis" not in path.name:
            found[match.group(1)] = path
    for path in sorted(folder.iterdir()):
        if path.name not in since and path.name.endswith("deduplication-map.txt"):
            for block in path.read_text(encoding="utf-8").split("key:")[1:]:
                key, *lines = block.splitlines()
                for line in lines:
                    if line.startswith("  ") and key in found:
                        found.setdefault(line.strip(), found[key])
    return found


def array_bytes(shape: str) -> int:
    """Return the bytes of the first array in a printed shape."""
    match = _ARRAY.search(shape)
    if match is None:
        raise Unsupported(f"a shape that cannot be read: {shape}")
    dtype, dimensions, _ = match.groups()
    digits = re.search(r"\d+", dtype)
    bits = _BITS.get(dtype, int(digits.group()) if digits else 0)
    size = bits
    for dimension in dimensions.split(","):
        size *= int(dimension) if dimension else 1
    return size // 8


def words(values: Sequence[int], shape: str) -> list[int] | None:
    """Return the signed 32-bit words of integers in row-major order, as an array of the printed shape holds them.

    A layout `{1,0:T(8,128)}` stores tiles of 8 rows by 128 columns one after the other; a second tile `(4,1)` puts
    four rows of a column into neighbouring elements. None if the layout is another kind, or the count does not fit.
    """
    match = _LAYOUT.match(shape.strip())
    if match is None:
        return None
    bits, dims, order, rows, columns, packed = match.groups()
    dimensions = [int(d) for d in dims.split(",") if d]
    if order and [int(o) for o in order.split(",")] != list(range(len(dimensions)))[::-1]:
        return None
    array = [1] * (2 - len(dimensions)) + dimensions
    count = 1
    for dimension in array:
        count *= dimension
    if count != len(values):
        return None
    tile = (int(rows or 1), int(columns)) if columns and len(dimensions) > 1 else (1, int(columns or 1))
    pack = int(packed or 1) if len(dimensions) > 1 else 1
    elements: list[int] = []
    for start in range(0, count, array[-2] * array[-1]):
        for top in range(0, array[-2], tile[0]):
            for left in range(0, array[-1], tile[1]):
                for above in range(top, top + tile[0], pack):
                    for column in range(left, left + tile[1]):
                        for row in range(above, above + pack):
                            inside = row < array[-2] and column < array[-1]
                            elements.append(values[start + row * array[-1] + column] if inside else 0)
    return _packed(elements, int(bits))


def _packed(elements: list[int], bits: int) -> list[int]:
    each, mask = 32 // bits, (1 << bits) - 1
    found = []
    for start in range(0, len(elements), each):
        word = sum((value & mask) << (bits * place) for place, value in enumerate(elements[start : start + each]))
        found.append(word - (1 << 32) if word >= 1 << 31 else word)
    return found


class _Clock:
    """Goes through a program's operations, keeping the time and what HBM still has to do."""

    def __init__(
        self,
        program: Program,
        files: Mapping[str, Path],
        machine: Machine,
        values: Mapping[int, Sequence[int]],
        walkers: Walkers,
    ) -> None:
        self.program, self.files, self.machine = program, files, machine
        self.values, self.walkers = values, walkers
        self.timing = Timing()
        self.hbm_free = 0.0
        self.copies: dict[str, float] = {}
        self.alike: dict[str, Path] = {}
        self.inputs = {
            operation.name: int(number.group(1))
            for operation in program.computations[program.entry]
            if (number := re.search(r"parameter\((\d+)\)", operation.text))
        }

    def run(self, computation: str, times: int) -> None:
        around = {operation.name: operation for operation in self.program.computations[computation]}
        for operation in around.values():
            self.step(operation, around, times)

    def step(self, operation: Operation, around: Mapping[str, Operation], times: int) -> None:
        opcode = operation.opcode
        if (path := self.file(operation, around)) is not None:
            self.walk(operation, path, around, times)
        elif opcode in _FREE or any(f'custom_call_target="{target}"' in operation.text for target in _FREE_TARGETS):
            return
        elif _SCALAR.match(operation.shape) and opcode in _SCALAR_OPERATIONS:
            return  # a scalar the program computes between operations
        elif opcode == "while":
            self.loop(operation, times)
        elif opcode == "call":
            self.run(self.called(operation, "to_apply"), times)
        elif _COLLECTIVES.match(opcode) or _COLLECTIVES.search(operation.text.split("metadata=")[0]):
            raise Unsupported(f"a collective between chips: {operation.name}")
        elif opcode in ("copy-start", "slice-start") or (opcode == "async-start" and "slice" in operation.name):
            self.start_copy(operation)
        elif opcode in ("copy-done", "slice-done", "async-done"):
            done = self.copies.get(operation.operands[0])
            if done is None:
                raise Unsupported(f"a copy that was not started: {operation.name}")
            self.timing.cycles = max(self.timing.cycles, done)
        else:
            raise Unsupported(f"no final schedule of {operation.name} ({opcode})")

    def called(self, operation: Operation, attribute: str) -> str:
        match = re.search(rf"{attribute}=%?([\w.\-]+)", operation.text)
        if match is None or match.group(1) not in self.program.computations:
            raise Unsupported(f"{operation.name} calls what is not in the text")
        return match.group(1)

    def loop(self, operation: Operation, times: int) -> None:
        trips = _TRIPS.search(operation.text)
        if trips is None:
            raise Unsupported(f"a loop whose trip count depends on data: {operation.name}")
        count, before = int(trips.group(1)), self.timing.cycles
        self.run(self.called(operation, "condition"), times * count)
        self.run(self.called(operation, "body"), times * count)
        passed = self.timing.cycles - before
        self.timing.cycles = before + passed * count
        self.hbm_free += passed * (count - 1)

    def start_copy(self, operation: Operation) -> None:
        if "S(5)" in operation.shape:
            raise Unsupported(f"a copy from or to the host: {operation.name}")
        size = array_bytes(operation.shape)
        ends = [match.group(3) or "" for match in _ARRAY.finditer(operation.shape)][:2]
        size *= max(1, sum("S(1)" not in end for end in ends)) if len(ends) == 2 else 1
        machine = self.machine
        rate = machine.hbm_bytes_per_s * machine.hbm_efficiency
        self.hbm_free = max(self.hbm_free, self.timing.cycles) + machine.clock_hz * size / rate
        self.copies[operation.name] = self.hbm_free
        self.timing.copied_bytes += size

    def file(self, operation: Operation, around: Mapping[str, Operation]) -> Path | None:
        """Return the schedule of an operation, or of an equal one: the compiler writes code once."""
        if operation.name in self.files:
            return self.files[operation.name]
        for name, path in self.files.items():  # long names are cut, with a number behind
            if (cut := _CUT.match(name)) and operation.name.startswith(cut.group(1)):
                return path
        if operation.opcode in _FREE or operation.opcode == "custom-call":
            return None
        if not self.alike:
            for operations in self.program.computations.values():
                inside = {o.name: o for o in operations}
                for other in operations:
                    if other.name in self.files:
                        self.alike.setdefault(self.signature(other, inside), self.files[other.name])
        return self.alike.get(self.signature(operation, around))

    def signature(self, operation: Operation, around: Mapping[str, Operation]) -> str:
        """Return what decides an operation's code: everything printed of it but names, with its operands' shapes."""
        own = re.split(r", (?:metadata|backend_config|sharding|frontend_attributes)=", operation.text)[0]
        parts = [own, *(around[name].shape for name in operation.operands if name in around)]
        if called := re.search(r"calls=%?([\w.\-]+)", own):
            for inner in self.program.computations.get(called.group(1), ()):
                parts.append(re.split(r", metadata=", inner.text)[0])
        return "\n".join(_NAME.sub("%", part) for part in parts)

    def walk(self, operation: Operation, path: Path, around: Mapping[str, Operation], times: int) -> None:
        known = {
            number: contents
            for number, operand in enumerate(operation.operands)
            if (contents := self.known(operand, around)) is not None
        }
        try:
            key = (path, tuple((number, tuple(contents)) for number, contents in known.items()))
            walker = self.walkers.get(key)
            if walker is None:
                walker = self.walkers[key] = Walker(read(path.read_text(encoding="utf-8")), known)
            backlog = max(0.0, self.hbm_free - self.timing.cycles)
            found = walker.walk(self.machine, hbm_free=backlog)
        except Unsupported as reason:
            raise Unsupported(f"{operation.name}: {reason}") from None
        if found.hbm_bytes:
            self.hbm_free = self.timing.cycles + found.hbm_free
        self.timing.cycles += found.cycles
        self.timing.operations.append((operation.name, times, found))

    def known(self, name: str, around: Mapping[str, Operation]) -> list[int] | None:
        """Return the 32-bit words of an operand as they lie in memory, if it is an input or a constant of integers."""
        operation = around.get(name)
        layout = operation.shape if operation else ""
        while operation is not None and operation.opcode in ("copy", "copy-start", "copy-done", "bitcast", "reshape"):
            if operation.opcode in ("bitcast", "reshape") and not _VECTOR.match(operation.shape):
                return None  # the order of its elements is not known here
            if operation.opcode != "copy-start":
                layout = layout if operation.name != name else operation.shape
            before, operation = operation, around.get(operation.operands[0])
            if before.opcode in ("bitcast", "reshape") and (operation is None or not _VECTOR.match(operation.shape)):
                return None
        if operation is None:
            return None
        values = self.contents(operation, around)
        return None if values is None else words(values, layout)

    def contents(self, operation: Operation, around: Mapping[str, Operation]) -> Sequence[int] | None:
        """Return the integers of an input, a constant or a broadcast of one, in row-major order."""
        if operation.opcode == "parameter" and operation.name in self.inputs:
            return self.values.get(self.inputs[operation.name])
        if operation.opcode == "constant" and re.match(r"[su]\d+\[", operation.shape):
            inside = operation.text.partition("constant(")[2].partition(")")[0]
            return None if "..." in inside else [int(text) for text in re.findall(r"-?\d+", inside)]
        if operation.opcode == "broadcast" and (source := around.get(operation.operands[0])) is not None:
            one = self.contents(source, around)
            sizes = re.match(r"[su]32\[(\d*)\]", operation.shape)
            return [*one] * int(sizes.group(1)) if one and len(one) == 1 and sizes and sizes.group(1) else None
        return None


def time_program(
    text: str,
    files: Mapping[str, Path],
    machine: Machine,
    values: Mapping[int, Sequence[int]] | None = None,
    walkers: Walkers | None = None,
) -> Timing:
    """Return what a program takes on a machine.

    Args:
        text: `compiled.as_text()`.
        files: Final schedules by operation (see `schedules`).
        machine: What to time with.
        values: Values of integer inputs by position, flat in row-major order; others are unknown.
        walkers: What was read for an earlier timing of this program, to be used again and added to.

    Raises:
        Unsupported: If the method cannot support a number; the message says why.
    """
    clock = _Clock(parse(text), files, machine, values or {}, {} if walkers is None else walkers)
    clock.run(clock.program.entry, 1)
    if not clock.timing.operations:
        raise Unsupported("no final schedule of any operation was dumped")
    return clock.timing
