"""What a flattened program (`program.py`) tells: operation counts, dependences, loops, reductions.

It needs the standard library only.

Counting rules for FLOPs, all at the shapes of the trace:

- dot_general: 2 x batch x rows x columns x contracted; ragged_dot: 2 x rows x columns x contracted
  (a row has one group).
- conv_general_dilated: 2 x output elements x taps x input channels of a group; taps on zeros put between the input's
  elements (a transposed convolution) are not counted, taps on padding are.
- element-wise arithmetic with a floating-point result: 1 an output element; a transcendental function counts as 1.
- reductions and cumulative operations: 1 an input element; windowed ones: 1 an output element and window element;
  scatters that combine: 1 an update element.
- comparisons, selections, conversions, copies, layout, random bits and integer work: 0.
- a scan's body counts once a trip; a while's body counts once, as its trips are unknown; of a cond's branches the one
  with most operations counts; a Pallas kernel's body counts once a grid step.
- sort, top_k, fft, decompositions, custom calls: not counted, and named in `uncounted`.
"""

import math

from program import STRUCTURE

ELEMENTWISE = frozenset(
    "abs acos acosh add add_any asin asinh atan atan2 atanh cbrt ceil clamp cos cosh digamma div erf erf_inv erfc exp "
    "exp2 expm1 floor igamma integer_pow lgamma log log1p logistic max min mul neg nextafter polygamma pow reciprocal "
    "rem round rsqrt sign sin sinh sqrt square sub tan tanh".split()
)
REDUCTIONS = frozenset("reduce_sum reduce_max reduce_min reduce_prod argmax argmin reduce".split())
CUMULATIVE = frozenset("cumsum cumprod cummax cummin cumlogsumexp".split())
MATMULS = frozenset("dot_general conv_general_dilated ragged_dot ragged_dot_general".split())
UNCOUNTED = frozenset(
    "sort top_k approx_top_k fft cholesky lu qr svd eigh eig triangular_solve custom_call ffi_call while "
    "pure_callback io_callback".split()
)
COLLECTIVES = frozenset(
    "psum psum2 psum_invariant pmax pmin ppermute all_gather all_gather_invariant all_to_all reduce_scatter "
    "ragged_all_to_all psum_scatter".split()
)
# They move, spread or convert elements; the array they make is rarely one that exists.
LAYOUT = frozenset(
    "broadcast_in_dim reshape transpose squeeze expand_dims convert_element_type copy copy_p iota slice rev pad split "
    "stop_gradient device_put optimization_barrier sharding_constraint bitcast_convert_type reduce_precision".split()
)
COMPARISONS = frozenset("lt le gt ge".split())
# Index arithmetic that keeps different trips' indices different.
INDEXING = frozenset(
    "add sub mul convert_element_type select_n lt broadcast_in_dim reshape squeeze concatenate copy".split()
)
_SUB_BYTE = {"int4": 0.5, "uint4": 0.5, "float4_e2m1fn": 0.5, "int2": 0.25, "uint2": 0.25}


def size(aval):
    """Return an array's number of elements."""
    return math.prod(aval.shape)


def array_bytes(aval):
    """Return an array's size in bytes."""
    return math.ceil(size(aval) * _SUB_BYTE.get(str(aval.dtype), aval.dtype.itemsize))


def is_array(aval):
    """Return whether this is a value with a static shape and an element type (not a token, not a semaphore)."""
    shape = getattr(aval, "shape", None)
    static = shape is not None and all(isinstance(n, int) for n in shape)
    return static and getattr(getattr(aval, "dtype", None), "itemsize", None) is not None


def is_float(aval):
    """Return whether the elements are floating-point or complex."""
    name = str(getattr(aval, "dtype", ""))
    return name.startswith(("float", "bfloat", "complex"))


def flops(op):
    """Return the floating-point operations of one execution of an operation, by the rules above."""
    if op.pseudo or not op.avals_out or not all(is_array(aval) for aval in (*op.avals_in, *op.avals_out)):
        return 0
    out = op.avals_out[0]
    name = op.name
    if name == "dot_general":
        (contracted, _), _ = op.params["dimension_numbers"]
        return 2 * size(out) * math.prod(op.avals_in[0].shape[d] for d in contracted)
    if name in ("ragged_dot", "ragged_dot_general"):
        return _ragged_flops(op)
    if name == "conv_general_dilated":
        return _conv_flops(op)
    if name in ELEMENTWISE:
        return size(out) if is_float(out) else 0
    if not op.avals_in or not is_float(op.avals_in[0]):
        return 0
    if name in REDUCTIONS or name in CUMULATIVE:
        return size(op.avals_in[0])
    if name.startswith("reduce_window"):
        return size(out) * math.prod(op.params.get("window_dimensions", ()))
    if name in ("scatter-add", "scatter_add", "scatter-mul", "scatter_mul", "scatter-min", "scatter-max"):
        return size(op.avals_in[2])
    return 0


def _ragged_flops(op):
    left, numbers = op.avals_in[0].shape, op.params.get("ragged_dot_dimension_numbers")
    if numbers is None:  # the form of older versions: [rows, contracted] x [groups, contracted, columns]
        return 2 * size(op.avals_out[0]) * left[-1]
    (contracted, _), _ = numbers.dot_dimension_numbers
    products = 2 * size(op.avals_out[0]) * math.prod(left[d] for d in contracted)
    # Where the contracted dimension is the ragged one, each group has its own share of it.
    split = set(numbers.lhs_ragged_dimensions) & set(contracted)
    return products // size(op.avals_in[2]) if split else products


def _conv_flops(op):
    kernel, numbers = op.avals_in[1], op.params["dimension_numbers"]
    features = kernel.shape[numbers.rhs_spec[0]]
    taps = size(kernel) // features
    return 2 * size(op.avals_out[0]) * taps // math.prod(op.params.get("lhs_dilation") or (1,))


class Dependences:
    """Which inputs, and which loops' positions, each array of a program depends on, as bit sets."""

    def __init__(self, program):
        self.program = program
        self.inputs = _forward(program.ops, {number: 1 << i for i, number in enumerate(program.inputs)})

    def names(self, numbers, names):
        """Return the names of the inputs that any of these arrays depends on, in order, without repeats."""
        bits = 0
        for number in numbers:
            bits |= self.inputs.get(number, 0)
        found = [name for i, name in enumerate(names) if bits >> i & 1]
        return list(dict.fromkeys(found))


def _forward(ops, start):
    """Propagate bit sets from arrays to what is computed from them, until nothing changes (loops feed back)."""
    bits, changed = dict(start), True
    while changed:
        changed = False
        for op in ops:
            reached = 0
            for number in op.ins:
                reached |= bits.get(number, 0)
            if not reached:
                continue
            for out in op.outs:
                if bits.get(out, 0) | reached != bits.get(out, 0):
                    bits[out] = bits.get(out, 0) | reached
                    changed = changed or op.name == "~next"
    return bits


def real_ops(program):
    """Return the operations that some output needs, without pseudo-operations."""
    return [op for op in program.ops if op.live and not op.pseudo]


def count_primitives(ops):
    """Return occurrences by name; what stands in a loop or kernel counts once."""
    counts = {}
    for op in ops:
        counts[op.name] = counts.get(op.name, 0) + 1
    return dict(sorted(counts.items()))


def compute_dtype(ops):
    """Return the operands' type of the matmuls with most FLOPs, or None if there is no matmul."""
    totals = {}
    for op in ops:
        if op.name in MATMULS:
            # Of unequal operands the wider one decides how it runs.
            widest = max((aval.dtype for aval in op.avals_in[:2]), key=lambda dtype: dtype.itemsize)
            totals[str(widest)] = totals.get(str(widest), 0) + flops(op) * op.times
    return max(sorted(totals), key=lambda name: totals[name]) if totals else None


def data_dependent(ops, dependences, names):
    """Return operations whose addresses, trips or masks depend on the inputs' values: a phrase and those inputs."""
    found = {}
    for op in ops:
        if op.in_kernel:
            continue
        if op.name == "gather" or op.name.startswith("scatter"):
            phrase, numbers = f"{op.name} indexed by", op.ins[1:2]
        elif op.name in ("dynamic_slice", "dynamic_update_slice"):
            phrase, numbers = f"{op.name} at", op.ins[1 if op.name == "dynamic_slice" else 2 :]
        elif op.name.startswith("ragged_dot"):
            phrase, numbers = f"{op.name} with groups of", op.ins[2:3]
        elif op.name in COMPARISONS and not op.loops:
            phrase, numbers = "mask by", _length_operand(op, dependences)
        else:
            continue
        inputs = dependences.names(numbers, names)
        if inputs:
            found[f"{phrase} {', '.join(inputs)}"] = inputs
    for loop in dependences.program.loops:
        inputs = dependences.names([loop.test], names) if loop.test else []
        if inputs:
            found[f"while until a condition on {', '.join(inputs)}"] = inputs
    return [{"what": what, "inputs": inputs} for what, inputs in sorted(found.items())]


def _length_operand(op, dependences):
    """Return the operand that depends on inputs if the other is a computed array (positions) that does not."""
    if not is_array(op.avals_out[0]) or size(op.avals_out[0]) < 2 or is_float(op.avals_in[0]) or None in op.ins:
        return []
    dependent = [number for number in op.ins if dependences.inputs.get(number)]
    return dependent if len(dependent) == 1 else []


def reductions(program, ops):
    """Return reductions with axes, once each, and whether the reduced value is combined with the operand again."""
    users = _users(program)
    found = {}
    for op in ops:
        axes = op.params.get("axes")
        if op.name not in REDUCTIONS or axes is None or op.in_kernel or not is_array(op.avals_in[0]):
            continue
        shape = tuple(op.avals_in[0].shape)
        key = (op.name, shape, tuple(sorted(int(axis) for axis in axes)))
        found[key] = found.get(key, False) or _meets_again(op, shape, users)
    return [
        {"primitive": name, "shape": list(shape), "axes": list(axes), "reused": reused}
        for (name, shape, axes), reused in found.items()
    ]


def _users(program):
    users = {}
    for op in program.ops:
        if op.live:
            for number in op.ins:
                users.setdefault(number, []).append(op)
    return users


def _meets_again(reduction, shape, users):
    """Return whether the reduced value, computed on element by element, meets an array of the operand's shape."""
    pending, seen = list(reduction.outs), set()
    while pending:
        number = pending.pop()
        for op in users.get(number, ()):
            if op.index in seen or op.loops != reduction.loops or not op.avals_out:
                continue
            seen.add(op.index)
            out = tuple(op.avals_out[0].shape)
            if op.name in ELEMENTWISE and out == shape and _has_full_operand(op, number, shape):
                return True
            if op.name in ELEMENTWISE or op.name in LAYOUT:
                pending.extend(op.outs)
    return False


def _has_full_operand(op, number, shape):
    return any(
        other != number and tuple(aval.shape) == shape
        for other, aval in zip(op.ins, op.avals_in, strict=True)
        if other is not None
    )


def intermediates(program, ops, limit=6):
    """Return the largest arrays between inputs and outputs, one a shape and type, with their use."""
    ends = {number for number in program.outputs if number is not None}
    users, found = _users(program), {}
    for op in ops:
        for number, aval in zip(op.outs, op.avals_out, strict=True):
            wanted = is_array(aval) and str(aval.dtype) != "bool" and not op.in_kernel and number not in ends
            if not wanted or op.name in LAYOUT or op.name in STRUCTURE:
                continue
            key = (tuple(aval.shape), str(aval.dtype))
            # Of several arrays alike, the first that a matmul makes stands for them, else the first.
            if key not in found or (op.name in MATMULS and found[key]["name"] not in MATMULS):
                found[key] = {
                    "name": op.name,
                    "shape": list(aval.shape),
                    "dtype": str(aval.dtype),
                    "bytes": array_bytes(aval),
                    "batch_rank": _batch_rank(op),
                    **_use(number, aval, users, ends),
                }
    # What only leaves the program is an output before its rounding; what is a thousand times smaller matters little.
    kept = [entry for entry in found.values() if entry["consumers"] or not entry["stored"]]
    least = max((entry["bytes"] for entry in kept), default=0) / 1000
    return sorted((entry for entry in kept if entry["bytes"] >= least), key=lambda entry: -entry["bytes"])[:limit]


def _batch_rank(op):
    return len(op.params["dimension_numbers"][1][0]) if op.name == "dot_general" else 0


def _use(number, aval, users, ends):
    """Follow an array through operations that keep its number of elements.

    Returns `through` (element-wise primitives on the way), `consumers` (what makes fewer or other elements of it) and
    `stored` (whether as many elements leave the program).
    """
    elements, pending, seen = size(aval), [number], set()
    through, consumers, stored = set(), set(), False
    while pending:
        current = pending.pop()
        stored = stored or current in ends
        for op in users.get(current, ()):
            if op.index in seen:
                continue
            seen.add(op.index)
            if op.pseudo:
                consumers.add("loop")
            elif op.avals_out and is_array(op.avals_out[0]) and size(op.avals_out[0]) == elements:
                if op.name in ELEMENTWISE:
                    through.add(op.name)
                if op.name in MATMULS or op.name in CUMULATIVE:
                    consumers.add(op.name)
                else:
                    pending.extend(op.outs)
            elif op.name not in LAYOUT:
                consumers.add(op.name)
    return {"through": sorted(through), "consumers": sorted(consumers), "stored": stored}


def loops(program, ops, total):
    """Return the loops that have live operations, with carries and whether their trips are independent."""
    found = []
    for loop in program.loops:
        body = [op for op in ops if loop in op.loops]
        if not body:
            continue
        kinds = _carry_kinds(program, loop)
        collects = any(number is not None for number in loop.stacks) or "collected" in kinds
        spent = sum(flops(op) * op.times for op in body)
        found.append(
            {
                "primitive": loop.primitive,
                "trips": loop.trips,
                "carries": sum(kind in ("collected", "state") for kind in kinds),
                "independent": "state" not in kinds and collects and loop.trips != 1,
                "flops_share": spent / total if total else 0.0,
                "in_kernel": body[0].in_kernel,
            }
        )
    return found


def _carry_kinds(program, loop):
    """Return for each carry: unchanged, counter, collected (written at the counter, never read), or state."""
    body = [op for op in program.ops if loop in op.loops]
    makers = {out: op for op in body if not op.pseudo for out in op.outs}
    kinds = []
    for inner, result in zip(loop.carry_in, loop.carry_out, strict=True):
        maker = makers.get(result)
        if result == inner:
            kinds.append("unchanged")
        elif maker and maker.name in ("add", "sub") and inner in maker.ins and None in maker.ins:
            kinds.append("counter")
        else:
            kinds.append("state")
    counters = {number for number, kind in zip(loop.carry_in, kinds, strict=True) if kind == "counter"}
    iotas = {out for op in program.ops if op.name == "iota" for out in op.outs}
    counters |= {inner for outer, inner in loop.slices if outer in iotas}
    varying = {number for number, kind in zip(loop.carry_in, kinds, strict=True) if kind == "state"}
    varying |= {inner for _, inner in loop.slices} - counters
    for i, (inner, result) in enumerate(zip(loop.carry_in, loop.carry_out, strict=True)):
        maker = makers.get(result)
        if kinds[i] == "state" and maker and _only_written(maker, inner, body):
            indices = maker.ins[2:] if maker.name == "dynamic_update_slice" else maker.ins[1:2]
            if _is_position(indices, makers, counters, varying):
                kinds[i] = "collected"
    return kinds


def _only_written(maker, carried, body):
    """Return whether a carry is written in place by its maker and read by nothing."""
    if maker.name not in ("dynamic_update_slice", "scatter") or maker.ins[0] != carried or carried in maker.ins[1:]:
        return False
    return not any(carried in op.ins for op in body if op is not maker)


def _is_position(indices, makers, counters, varying):
    """Return whether the indices come from the loop's counter and from what does not change, by index arithmetic."""
    pending, seen, counted = [number for number in indices if number is not None], set(), False
    while pending:
        number = pending.pop()
        if number in seen:
            continue
        seen.add(number)
        if number in counters:
            counted = True
        elif number in varying:
            return False
        elif number in makers:
            if makers[number].name not in INDEXING:
                return False
            pending.extend(source for source in makers[number].ins if source is not None)
    return counted
