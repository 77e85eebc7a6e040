"""What a decoded program does and where: the share of its work in kernels, precision, dependence on its inputs.

Counted on the program itself (`program.py`), never from a declared or compiled cost. It needs the standard library.

- FLOPs as `program_facts.py` counts them: a kernel's body once a grid step, a scan's once a trip.
- Bytes: of an operation outside kernels its operands and results; of a kernel the blocks of its references once a grid
  step, at most four times the arrays they are blocks of.
- Reshapes, transposes, casts, pads, slices, broadcasts and what only makes constants are free outside.
- A program works on FLOPs where the reference has ten or more an element of its inputs and outputs, else on bytes.
- Kernels that compute nothing have no share where anything is computed outside.
- Work outside is also held against the reference's own, so that idle work in a kernel does not dilute it.
"""

import math

import program_facts as facts
from program import COMBINERS, Program, plain, sub_jaxprs

FLOPS_AN_ELEMENT = 10
FREE = facts.LAYOUT | frozenset(
    "convert_element_type dynamic_slice squeeze expand_dims iota copy broadcast stop_gradient select_and_gather_add "
    "get swap addupdate run_state empty full concatenate".split()
)
# Trips of a loop that only running it would tell: outside kernels as many as make hiding work there useless.
UNKNOWN_TRIPS = 1000
_WIDTH = {"float8": 8, "float4": 4, "float6": 6, "bfloat16": 16, "float16": 16, "float32": 32, "float64": 64}


def float_width(dtype):
    """Return the bits of a floating-point type, or None."""
    name = str(dtype)
    if name == "bfloat16":
        return 16
    return next((bits for prefix, bits in _WIDTH.items() if name.startswith(prefix)), None)


class Work:
    """Where a program works.

    Attributes:
        kernels: How many kernels it has.
        kernel_flops, outside_flops, kernel_bytes, outside_bytes: As counted.
    """

    def __init__(self, closed):
        self.program = Program(closed, facts.flops)
        self.kernel_flops = self.outside_flops = self.kernel_bytes = self.outside_bytes = 0
        for op in self.program.ops:
            if op.pseudo or not op.live:
                continue
            if op.in_kernel:
                self.kernel_flops += facts.flops(op) * op.times
            elif op.name not in FREE and not _is_structure(op):
                self._outside(op)
        found = list(_kernels(plain(closed), 1))
        self.kernels = len(found)
        self.kernel_bytes = sum(_kernel_bytes(eqn) * times for eqn, times in found)

    def _outside(self, op):
        times = op.times * math.prod(UNKNOWN_TRIPS for loop in op.loops if getattr(loop, "trips", 0) is None)
        flops = facts.flops(op)
        arrays = [a for a in (*op.avals_in, *op.avals_out) if facts.is_array(a)]
        if op.name in facts.UNCOUNTED and arrays:
            largest = max(facts.size(a) for a in arrays)
            flops = largest * max(1, math.ceil(math.log2(max(largest, 2))))
        self.outside_flops += flops * times
        self.outside_bytes += sum(facts.array_bytes(a) for a in arrays) * times

    def share(self, reference_flops, elements):
        """Return the share of the work inside kernels, 0 to 1, against a reference's FLOPs and elements."""
        if not self.kernels:
            return 0.0
        if reference_flops >= FLOPS_AN_ELEMENT * max(elements, 1):
            inside, outside, whole = self.kernel_flops, self.outside_flops, reference_flops
        else:
            inside, outside, whole = self.kernel_bytes, self.outside_bytes, None
        if self.outside_flops and not self.kernel_flops:
            return 0.0  # kernels that only move what was computed outside
        if not inside + outside:
            return 1.0
        share = inside / (inside + outside)
        return share if not whole else min(share, max(0.0, 1 - outside / whole))


def _is_structure(op):
    """Return whether an operation stands for a body, whose own operations are counted."""
    return not op.name.startswith(COMBINERS) and bool(sub_jaxprs(op.params))


def _kernels(jaxpr, times):
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "pallas_call":
            yield eqn, times
            continue
        trips = int(eqn.params["length"]) if eqn.primitive.name == "scan" else 1
        for inner in sub_jaxprs(eqn.params):
            yield from _kernels(inner, times * trips)


def _kernel_bytes(eqn):
    """Return the bytes of a kernel's blocks over its grid, at most four times the arrays they are blocks of."""
    mapping = eqn.params["grid_mapping"]
    steps = math.prod(n for n in mapping.grid if isinstance(n, int))
    total = 0
    for block in mapping.block_mappings:
        # JAX below 0.7 calls them otherwise.
        array = getattr(block, "array_aval", None) or block.array_shape_dtype
        one = getattr(block, "transformed_block_aval", None) or block.block_aval
        one, whole = getattr(one, "inner_aval", one), facts.array_bytes(array)
        total += min(facts.array_bytes(one) * steps if facts.is_array(one) else whole, 4 * whole)
    return total


def narrowest(closed):
    """Return (bits, operation name) of the narrowest floating-point arithmetic of a program, or None.

    Operands of matmuls and of element-wise arithmetic and reductions count; casts and stores do not. An integer matmul
    counts as 8 bits.
    """
    found = None
    for op in Program(closed, facts.flops).ops:
        if op.pseudo or not op.live:
            continue
        arithmetic = op.name in facts.ELEMENTWISE or op.name in facts.REDUCTIONS or op.name in facts.CUMULATIVE
        if op.name not in facts.MATMULS and not arithmetic:
            continue
        for aval in op.avals_in:
            bits = float_width(getattr(aval, "dtype", ""))
            if (
                bits is None
                and op.name in facts.MATMULS
                and str(getattr(aval, "dtype", "")) in ("int8", "uint8", "int4")
            ):
                bits = 8
            if bits is not None and math.prod(aval.shape) > 1 and (found is None or bits < found[0]):
                found = (bits, op.name)
    return found


def narrowest_array(avals):
    """Return the bits of the narrowest array among inputs or outputs, integers of 8 bits or less included, or None."""
    widths = [float_width(a.dtype) or (8 if a.dtype.itemsize == 1 and str(a.dtype) != "bool" else None) for a in avals]
    return min((w for w in widths if w is not None), default=None)


def depends_on(closed):
    """Return for each output whether it depends on any input."""
    program = Program(closed, facts.flops)
    inputs = facts.Dependences(program).inputs
    return [number is not None and inputs.get(number, 0) != 0 for number in program.outputs]


def unused_inputs(closed):
    """Return the positions of inputs that no output depends on."""
    program = Program(closed, facts.flops)
    found = facts.Dependences(program).inputs
    used = 0
    for number in program.outputs:
        used |= found.get(number, 0)
    return [i for i in range(len(program.inputs)) if not used >> i & 1]


def arithmetic(closed):
    """Return the names of the operations that compute in a program's kernels."""
    ops = Program(closed, facts.flops).ops
    counted = facts.ELEMENTWISE | facts.REDUCTIONS | facts.CUMULATIVE | facts.MATMULS
    return sorted({op.name for op in ops if op.in_kernel and op.name in counted and facts.flops(op)})


def fits_there_only(at_config, at_check):
    """Return whether kernels fit their arrays at CONFIG and not at CHECK: the author counted on CONFIG's sizes.

    Taken for that are a block's dimension that is the same at both and divides the array's at CONFIG only, and a grid
    that stays the same while a blocked array shrinks to fewer blocks than it has steps.
    """
    there, here = ([eqn.params["grid_mapping"] for eqn, _ in _kernels(plain(c), 1)] for c in (at_config, at_check))
    return len(there) == len(here) and any(_misfit(*pair) for pair in zip(there, here, strict=True))


def _misfit(there, here):
    if len(there.block_mappings) != len(here.block_mappings):
        return False
    steps = math.prod(n for n in there.grid if isinstance(n, int))
    for one, other in zip(there.block_mappings, here.block_mappings, strict=True):
        (config, block), (check, other_block) = _blocked(one), _blocked(other)
        if config == check:
            continue
        fixed = [(n, m, b) for n, m, b, c in zip(config, check, block, other_block, strict=True) if b == c]
        if any(n % b == 0 and m % b for n, m, b in fixed):
            return True
        if there.grid == here.grid and _blocks(check, other_block) < steps <= _blocks(config, block):
            return True
    return False


def _blocks(shape, block):
    return math.prod(-(-n // b) for n, b in zip(shape, block, strict=True))


def _blocked(block):
    """Return (array shape, block shape), a dimension that is squeezed or not blocked counting as one element."""
    array = getattr(block, "array_aval", None) or block.array_shape_dtype
    sizes = [getattr(b, "block_size", b) for b in block.block_shape]
    return tuple(array.shape), tuple(b if isinstance(b, int) and b > 0 else 1 for b in sizes)
