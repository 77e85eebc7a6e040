"""Walks a final schedule: executes its scalar instructions, so that branches, trips and DMAs are the real ones.

Every bundle takes a cycle; a wait takes as long as the DMAs it waits for. DMAs that touch HBM share its bandwidth in
the order they are issued; copies inside the chip take no time of their own. What depends on data is unknown, and a
branch, a DMA size or a wait that depends on something unknown ends the walk with Unsupported: no number, not a guess.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from latency_bundles import (  # type: ignore[import-not-found]
    DELAY_SLOTS,
    Instruction,
    Operand,
    Schedule,
    Unsupported,
    Value,
    branch_target,
    reads,
)
from latency_scalars import BINARY, UNKNOWN, negated, signed, unsigned  # type: ignore[import-not-found]

Step = Callable[[list[Any]], None]

# Words an allocation may have before it runs into the next in the address space made up here.
_ALLOCATION_WORDS = 1 << 20
GRANULE_BYTES = 32
_WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class Machine:
    """What the walk times with.

    Attributes:
        clock_hz: Bundles a second.
        hbm_bytes_per_s: Peak bandwidth of HBM.
        hbm_efficiency: Share of the peak that long DMAs reach.
        dma_s: Time a DMA occupies HBM beyond its bytes.
        latency_s: From a DMA's last byte to the end of the wait for it.
    """

    clock_hz: float
    hbm_bytes_per_s: float
    hbm_efficiency: float = 1.0
    dma_s: float = 0.0
    latency_s: float = 0.0


@dataclass(slots=True)
class Walk:
    """What a walk found; times in cycles.

    Attributes:
        cycles: From the first bundle to the last, waits included.
        bundles: Bundles issued.
        stalled: Cycles of `cycles` spent waiting for DMAs.
        hbm_bytes: Bytes moved from or to HBM.
        dmas: DMAs that touch HBM.
        steps: Scalar instructions executed.
        hbm_free: Cycle until which HBM stays busy.
    """

    cycles: float = 0.0
    bundles: int = 0
    stalled: float = 0.0
    hbm_bytes: int = 0
    dmas: int = 0
    steps: int = 0
    hbm_free: float = 0.0


@dataclass(slots=True)
class _State:
    """The walk's own: time, HBM, sync flags and scalar memory."""

    machine: Machine
    found: Walk = field(default_factory=Walk)
    start: float = 0.0
    hbm_free: float = 0.0
    flags: dict[int, int] = field(default_factory=dict)
    coming: dict[int, list[tuple[float, int]]] = field(default_factory=dict)
    memory: dict[int, Any] = field(default_factory=dict)

    def transfer(self, now: float, granules: int, flag: int, hbm_times: int) -> None:
        """Issue a DMA; its flag rises by its granules when it is done."""
        done = now
        if hbm_times:
            size = granules * GRANULE_BYTES * hbm_times
            machine = self.machine
            rate = machine.hbm_bytes_per_s * machine.hbm_efficiency
            self.hbm_free = max(now, self.hbm_free) + machine.clock_hz * (size / rate + machine.dma_s)
            done = self.hbm_free + machine.clock_hz * machine.latency_s
            self.found.hbm_bytes += size
            self.found.dmas += 1
        self.coming.setdefault(flag, []).append((done, granules))

    def wait(self, now: float, flag: int, amount: int) -> None:
        """Wait until a flag has reached an amount."""
        have, coming = self.flags.get(flag, 0), sorted(self.coming.get(flag, ()))
        while have < amount:
            if not coming:
                raise Unsupported("a wait that no DMA of this program satisfies")
            done, granules = coming.pop(0)
            have += granules
            if done > now:
                self.start += done - now
                self.found.stalled += done - now
                now = done
        self.flags[flag], self.coming[flag] = have, coming


_COPIES = ("smov", "pmov", "spop.drf")
_DMA = {
    "dma.hbm_to_vmem": 1,
    "dma.vmem_to_hbm": 1,
    "dma.hbm_to_smem": 1,
    "dma.smem_to_hbm": 1,
    "dma.hbm_to_hbm": 2,
    "dma.vmem_to_vmem": 0,
    "dma.vmem_to_smem": 0,
    "dma.smem_to_vmem": 0,
    "dma.smem_to_smem": 0,
}
_FLAGS = ("dma.done.wait", "vsyncadd", "vsyncpa")


@dataclass(slots=True)
class _Block:
    """Bundles that run in one go: what to do, how long it takes, and where to go on."""

    steps: list[Step] = field(default_factory=list)
    cycles: int = 0
    decides: int = -1
    target: int = -1


class Walker:
    """One schedule, ready to be walked.

    Args:
        schedule: What `latency_bundles.read` returned.
        scalars: Values of arguments by position, as flat sequences of 32-bit integers; others are unknown.

    Raises:
        Unsupported: If an instruction that matters is not known here.
    """

    def __init__(self, schedule: Schedule, scalars: Mapping[int, Sequence[int]] | None = None) -> None:
        self._schedule = schedule
        self._scalars = scalars or {}
        self._slots: dict[Any, int] = {}
        self._initial: list[Any] = []
        self._symbols: dict[str, int] = {}
        self._hbm = _pointers_into_hbm(schedule)
        for name, operand in schedule.operands.items():
            self._initial[self._slot(name)] = self._argument(operand)
        self._needed = _needed(schedule)
        self._blocks, self._order = self._cut()

    def walk(self, machine: Machine, most_steps: int = 60_000_000, hbm_free: float = 0.0) -> Walk:
        """Execute the schedule.

        Args:
            machine: What to time with.
            most_steps: Scalar instructions after which the walk is given up.
            hbm_free: Cycle until which HBM is busy with what was issued before.

        Raises:
            Unsupported: If it depends on data, or takes too many steps.
        """
        state = _State(machine, hbm_free=hbm_free)
        self._state = state
        values, blocks, found = list(self._initial), self._blocks, state.found
        at: int | None = self._order[0]
        while at is not None:
            block = blocks[at]
            try:
                for step in block.steps:
                    step(values)
                found.bundles += block.cycles
                state.start += block.cycles
                found.steps += len(block.steps) + 1
                if found.steps > most_steps:
                    raise Unsupported(f"more than {most_steps:,} scalar instructions")
                taken = block.decides >= 0 and bool(values[block.decides])
            except Unsupported as reason:
                raise Unsupported(f"{reason} (block at bundle {at:#x})") from None
            at = block.target if taken else self._next.get(at)
        found.cycles, found.hbm_free = state.start, state.hbm_free
        return found

    def _slot(self, key: Any) -> int:
        if key not in self._slots:
            self._slots[key] = len(self._initial)
            self._initial.append(UNKNOWN)
        return self._slots[key]

    def _argument(self, operand: Operand) -> Any:
        if operand.space.startswith("<"):  # passed by value
            values = self._scalars.get(operand.index)
            return values[0] if values and operand.shape in ((), (1,)) else UNKNOWN
        return self._base(f"operand {operand.index}")

    def _base(self, symbol: str) -> int:
        return self._symbols.setdefault(symbol, (len(self._symbols) + 1) * _ALLOCATION_WORDS)

    def _cut(self) -> tuple[dict[int, _Block], list[int]]:
        """Cut the schedule into blocks at branch targets and behind branches."""
        bundles = self._schedule.bundles
        targets: dict[int, int] = {}
        for number, bundle in enumerate(bundles):
            for instruction in bundle:
                if instruction.op.startswith("sbr"):
                    targets[number] = branch_target(self._schedule, instruction)
        starts = sorted({0, *targets.values(), *(n + DELAY_SLOTS + 1 for n in targets)} - {len(bundles)})
        blocks: dict[int, _Block] = {}
        self._next = dict(zip(starts, [*starts[1:], None], strict=True))
        for start in starts:
            stop = self._next[start] or len(bundles)
            block = blocks[start] = _Block(cycles=stop - start)
            for number in range(start, stop):
                for instruction in bundles[number]:
                    self._add(block, instruction, number - start)
                if number in targets:
                    if block.target >= 0 or number + DELAY_SLOTS + 1 != stop:
                        raise Unsupported("a branch inside the delay of another")
                    block.target = targets[number]
        return blocks, starts

    def _add(self, block: _Block, instruction: Instruction, offset: int) -> None:
        op = instruction.op
        if op == "sbr.rel":
            block.decides = self._slot(("decides", id(instruction)))
            block.steps.append(self._decision(instruction, block.decides))
        elif op.startswith("dma.") and op != "dma.done.wait":
            block.steps.append(self._guarded(self._dma(instruction, offset), instruction, loud=True))
        elif op in _FLAGS:
            block.steps.append(self._guarded(self._flag(instruction, offset), instruction, loud=True))
        elif op == "sst":
            block.steps.append(self._guarded(self._store(instruction), instruction, loud=True))
        elif op == "vdelay":
            block.cycles += instruction.operands[0].constant
        elif op.startswith(("vsync", "vwait", "sbarrier", "inlined_call")):
            raise Unsupported(f"an instruction that is not followed here: {instruction.text}")
        elif instruction.name in self._needed:
            block.steps.append(self._guarded(self._scalar(instruction), instruction, loud=False))

    def _get(self, value: Value) -> Callable[[list[Any]], Any]:
        """Return a function that reads an operand."""
        constant = value.constant
        for symbol in value.symbols:
            if not symbol.startswith("#"):
                return lambda _: UNKNOWN
            constant += self._base(symbol)
        slots = [self._slot(variable) for variable in value.variables]
        if not slots:
            return lambda _: constant
        first = slots[0]
        if len(slots) == 1:
            return (lambda values: values[first]) if constant == 0 else (lambda values: values[first] + constant)
        second = slots[1]
        return lambda values: values[first] + values[second] + constant

    def _guarded(self, step: Step, instruction: Instruction, *, loud: bool) -> Step:
        """Make a step depend on its predicate; unknown means an unknown result, or Unsupported where it matters."""
        if not instruction.predicate:
            return step
        predicate, wanted = self._slot(instruction.predicate), not instruction.negated
        target = self._slot(instruction.name) if instruction.name else -1
        otherwise = self._slot(instruction.otherwise) if instruction.otherwise else -1
        text = instruction.text

        def guarded(values: list[Any]) -> None:
            condition = values[predicate]
            if condition is UNKNOWN:
                if loud:
                    raise Unsupported(f"depends on data: {text}")
                values[target] = UNKNOWN
            elif condition == wanted:
                step(values)
            elif otherwise >= 0:
                values[target] = values[otherwise]

        return guarded

    def _decision(self, instruction: Instruction, target: int) -> Step:
        if not instruction.predicate:

            def always(values: list[Any]) -> None:
                values[target] = True

            return always
        predicate, negated, text = self._slot(instruction.predicate), instruction.negated, instruction.text

        def decide(values: list[Any]) -> None:
            condition = values[predicate]
            if condition is UNKNOWN:
                raise Unsupported(f"a branch depends on data: {text}")
            values[target] = condition != negated

        return decide

    def _scalar(self, instruction: Instruction) -> Step:
        op, target = instruction.op, self._slot(instruction.name)
        if op == "sld":
            address = self._get(instruction.operands[0])

            def load(values: list[Any]) -> None:
                where = address(values)
                values[target] = UNKNOWN if where is UNKNOWN else self._state.memory.get(where, UNKNOWN)

            return load
        if op == "scalar_select":
            predicate = self._get(instruction.named["predicate"])
            yes, no = self._get(instruction.named["on_true"]), self._get(instruction.named["on_false"])

            def select(values: list[Any]) -> None:
                condition = predicate(values)
                values[target] = UNKNOWN if condition is UNKNOWN else (yes if condition else no)(values)

            return select
        return self._arithmetic(instruction, target)

    def _arithmetic(self, instruction: Instruction, target: int) -> Step:
        op, operands = instruction.op, [self._get(value) for value in instruction.operands]
        if op in _COPIES or (op.startswith("scalar_lea.") and len(operands) == 1):
            source = operands[0]

            def copy(values: list[Any]) -> None:
                values[target] = source(values)

            return copy
        if op == "pneg":
            source = operands[0]

            def negate(values: list[Any]) -> None:
                values[target] = negated(source(values))

            return negate
        combine = operator.add if op.startswith("scalar_lea.") else BINARY.get(op)
        if combine is None or len(operands) != 2:

            def forget(values: list[Any]) -> None:
                values[target] = UNKNOWN

            return forget
        first, second = operands

        def compute(values: list[Any]) -> None:
            values[target] = combine(first(values), second(values))

        return compute

    def _store(self, instruction: Instruction) -> Step:
        address, source = (self._get(value) for value in instruction.operands)
        text = instruction.text

        def store(values: list[Any]) -> None:
            where = address(values)
            if where is UNKNOWN:
                raise Unsupported(f"a store to an unknown address: {text}")
            self._state.memory[where] = source(values)

        return store

    def _flag(self, instruction: Instruction, offset: int) -> Step:
        flag, amount = (self._get(value) for value in instruction.operands)
        op, text = instruction.op, instruction.text

        def act(values: list[Any]) -> None:
            which, how_much, state = flag(values), amount(values), self._state
            if which is UNKNOWN or how_much is UNKNOWN:
                raise Unsupported(f"depends on data: {text}")
            if op == "vsyncpa":
                state.flags[which] = 0
            elif op == "vsyncadd":
                state.flags[which] = state.flags.get(which, 0) + signed(how_much)
            else:
                state.wait(state.start + offset, which, how_much)

        return act

    def _dma(self, instruction: Instruction, offset: int) -> Step:
        named, text, op = instruction.named, instruction.text, instruction.op
        if op == "dma.general":
            ends = [v for end in ("src", "dst") for v in named[end].variables]
            times = sum(v in self._hbm for v in ends)
        elif op in _DMA:
            times = _DMA[op]
        else:
            raise Unsupported(f"a DMA that is not followed here: {text}")
        granules, flag = self._get(named["size_in_granules"]), self._get(named["dst_syncflagno"])
        fill = self._fill(instruction) if op.endswith("_to_smem") else None

        def issue(values: list[Any]) -> None:
            size, which = granules(values), flag(values)
            if size is UNKNOWN or which is UNKNOWN:
                raise Unsupported(f"depends on data: {text}")
            if fill:
                fill(values)
            self._state.transfer(self._state.start + offset, size, which, times)

        return issue

    def _fill(self, instruction: Instruction) -> Step:
        """Return what a DMA into scalar memory leaves there: an argument's values if they are known, else nothing."""
        space = next((end for end in ("hbm", "vmem") if end in instruction.named), None)
        source = self._get(instruction.named[space]) if space else lambda _: UNKNOWN
        shift = 4 if space == "vmem" else 0  # vmem addresses of DMAs are in sixteenths
        target, size = self._get(instruction.named["smem"]), self._get(instruction.named["size_in_granules"])
        arguments = {
            unsigned(self._base(f"operand {operand.index}") << shift): self._scalars[operand.index]
            for operand in self._schedule.operands.values()
            if operand.index in self._scalars and not operand.space.startswith("<")
        }

        def fill(values: list[Any]) -> None:
            where, memory = target(values), self._state.memory
            if where is UNKNOWN:
                raise Unsupported("a DMA to an unknown place in scalar memory")
            contents = arguments.get(unsigned(source(values)), ())
            for offset in range(size(values) * GRANULE_BYTES // _WORD_BYTES):
                memory[where + offset] = contents[offset] if offset < len(contents) else UNKNOWN

        return fill


def _pointers_into_hbm(schedule: Schedule) -> set[str]:
    """Return the variables that hold HBM addresses."""
    found = {name for name, operand in schedule.operands.items() if operand.space == "hbm"}
    found |= {i.name for bundle in schedule.bundles for i in bundle if i.op == "scalar_lea.hbm"}
    return found


def _needed(schedule: Schedule) -> set[str]:
    """Return the variables on which control flow, data movement and scalar memory depend."""
    by_name: dict[str, list[Instruction]] = {}
    needed: set[str] = set()
    for bundle in schedule.bundles:
        for instruction in bundle:
            if instruction.name:
                by_name.setdefault(instruction.name, []).append(instruction)
            elif not instruction.op.startswith("shalt"):
                needed |= reads(instruction)
    waiting = list(needed)
    while waiting:
        for instruction in by_name.get(waiting.pop(), ()):
            fresh = reads(instruction) - needed
            needed |= fresh
            waiting += fresh
    return needed
