"""A traced program flattened to a list of operations, for `trace_workload.py`. It needs the standard library only.

Calls (jit, remat, custom_jvp, shard_map...) are inlined, so that an array keeps one number through them. Loops and
kernels are walked once; what enters and leaves them is linked by pseudo-operations whose name starts with `~`, so that
"what does this depend on" and "what is this used for" can be asked across them.
"""

import math

# Operations that stand for their bodies: what the bodies need is followed there.
STRUCTURE = ("scan", "while", "cond", "shard_map")
# Their inner jaxpr combines two elements; it is not a program of its own.
COMBINERS = ("scatter", "reduce", "argm", "cum", "select_and_")


class Op:
    """One operation: `ins` and `outs` are array numbers (None for a literal)."""

    __slots__ = ("avals_in", "avals_out", "index", "ins", "live", "loops", "name", "outs", "params", "times")

    def __init__(self, name, ins, outs, avals_in, avals_out, params, times, loops, index):
        self.name, self.ins, self.outs = name, ins, outs
        self.avals_in, self.avals_out, self.params = avals_in, avals_out, params
        self.times, self.loops, self.index, self.live = times, loops, index, True

    @property
    def pseudo(self):
        return self.name.startswith("~")

    @property
    def in_kernel(self):
        return any(isinstance(loop, Kernel) for loop in self.loops)


class Loop:
    """A scan or while: array numbers of what it carries, and of its body's results."""

    def __init__(self, primitive, trips):
        self.primitive, self.trips = primitive, trips
        self.carry_in, self.carry_out = [], []
        self.slices, self.stacks, self.test = [], [], None


class Kernel:
    """The body of a pallas_call."""

    def __init__(self, steps):
        self.steps = steps


class Program:
    """The flattened program.

    Attributes:
        ops: Operations in order; a loop's or kernel's own operation comes before those of its body.
        loops: Loops in order.
        inputs: Array numbers of the inputs.
        outputs: Array numbers of the outputs (None for a literal).
        output_avals: Their shapes and types.
        input_avals: Likewise of the inputs.
    """

    def __init__(self, closed, flops_of):
        self.ops, self.loops, self._count, self._flops_of = [], [], 0, flops_of
        jaxpr = plain(closed)
        env = {}
        self.inputs = [self._new(env, var) for var in jaxpr.invars]
        self.input_avals = [var.aval for var in jaxpr.invars]
        for var in jaxpr.constvars:
            self._new(env, var)
        self._walk(jaxpr, env, 1, ())
        self.outputs = [self._get(env, var) for var in jaxpr.outvars]
        self.output_avals = [var.aval for var in jaxpr.outvars]
        self._mark_live()

    def _new(self, env, var):
        self._count += 1
        env[var] = self._count
        return self._count

    def _get(self, env, atom):
        return None if hasattr(atom, "val") else env[atom]

    def _emit(self, name, ins, outs, avals_in=(), avals_out=(), params=None, times=1, loops=()):
        op = Op(name, ins, outs, avals_in, avals_out, params or {}, times, loops, len(self.ops))
        self.ops.append(op)
        return op

    def _link(self, name, source, target, loops):
        self._emit(name, [source], [target], loops=loops)

    def _walk(self, jaxpr, env, times, loops):
        for eqn in jaxpr.eqns:
            name = eqn.primitive.name
            inner = [] if name.startswith(COMBINERS) else sub_jaxprs(eqn.params)
            if name == "scan":
                self._scan(eqn, env, times, loops)
            elif name == "while":
                self._while(eqn, env, times, loops)
            elif name == "cond":
                self._cond(eqn, env, times, loops)
            elif name == "pallas_call":
                self._kernel(eqn, env, times, loops, inner)
            elif len(inner) == 1 and _same_signature(inner[0], eqn):
                body = {}
                for var, atom in zip(inner[0].invars, eqn.invars, strict=True):
                    body[var] = self._get(env, atom)
                self._bind_constants(inner[0], body)
                if name == "shard_map":
                    self._own(eqn, env, times, loops, makes=False)
                self._walk(inner[0], body, times, loops)
                for var, result in zip(eqn.outvars, inner[0].outvars, strict=True):
                    env[var] = self._get(body, result)
            elif inner:
                self._opaque(eqn, env, times, loops, inner)
            else:
                self._own(eqn, env, times, loops)

    def _own(self, eqn, env, times, loops, makes=True):
        """Emit the operation itself; of a loop, call or branch, its body makes the results."""
        ins = [self._get(env, atom) for atom in eqn.invars]
        made = eqn.outvars if makes else []
        numbers = [self._new(env, var) for var in made]
        avals = [atom.aval for atom in eqn.invars], [var.aval for var in made]
        return self._emit(eqn.primitive.name, ins, numbers, *avals, eqn.params, times, loops)

    def _bind_constants(self, jaxpr, env):
        for var in jaxpr.constvars:
            self._new(env, var)

    def _scan(self, eqn, env, times, loops):
        body, consts, carries = plain(eqn.params["jaxpr"]), eqn.params["num_consts"], eqn.params["num_carry"]
        loop = Loop("scan", int(eqn.params["length"]))
        self.loops.append(loop)
        self._own(eqn, env, times, loops, makes=False)
        inside, ins = {}, [self._get(env, atom) for atom in eqn.invars]
        path = (*loops, loop)
        for var, number in zip(body.invars[:consts], ins[:consts], strict=True):
            inside[var] = number
        for var, number in zip(body.invars[consts : consts + carries], ins[consts : consts + carries], strict=True):
            loop.carry_in.append(self._new(inside, var))
            self._link("~carry", number, loop.carry_in[-1], path)
        for var, number in zip(body.invars[consts + carries :], ins[consts + carries :], strict=True):
            loop.slices.append((number, self._new(inside, var)))
            self._link("~slice", number, inside[var], path)
        self._bind_constants(body, inside)
        self._walk(body, inside, times * loop.trips, path)
        self._close(loop, [self._get(inside, var) for var in body.outvars], eqn, env, path)

    def _while(self, eqn, env, times, loops):
        params = eqn.params
        test, body = plain(params["cond_jaxpr"]), plain(params["body_jaxpr"])
        first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        loop = Loop("while", None)
        self.loops.append(loop)
        self._own(eqn, env, times, loops, makes=False)
        path = (*loops, loop)
        ins = [self._get(env, atom) for atom in eqn.invars]
        for number in ins[second:]:
            self._count += 1
            loop.carry_in.append(self._count)
            self._link("~carry", number, self._count, path)
        testing = dict(zip(test.invars, [*ins[:first], *loop.carry_in], strict=True))
        inside = dict(zip(body.invars, [*ins[first:second], *loop.carry_in], strict=True))
        self._bind_constants(test, testing)
        self._bind_constants(body, inside)
        self._walk(test, testing, times, path)
        loop.test = self._get(testing, test.outvars[0])
        self._walk(body, inside, times, path)
        self._close(loop, [self._get(inside, var) for var in body.outvars], eqn, env, path)

    def _close(self, loop, results, eqn, env, path):
        """Link a body's results to the next iteration and to what leaves the loop."""
        loop.carry_out = results[: len(loop.carry_in)]
        loop.stacks = results[len(loop.carry_in) :]
        for inner, result in zip(loop.carry_in, loop.carry_out, strict=True):
            self._link("~next", result, inner, path)
        for var, result in zip(eqn.outvars, results, strict=True):
            self._link("~result", result, self._new(env, var), path)
            if loop.test is not None:
                self._link("~trips", loop.test, env[var], path)

    def _cond(self, eqn, env, times, loops):
        """Walk every branch; only the one with most operations counts in FLOPs."""
        self._own(eqn, env, times, loops, makes=False)
        choice, *ins = [self._get(env, atom) for atom in eqn.invars]
        outs = [self._new(env, var) for var in eqn.outvars]
        costs = []
        for branch in map(plain, eqn.params["branches"]):
            start = len(self.ops)
            inside = dict(zip(branch.invars, ins, strict=True))
            self._bind_constants(branch, inside)
            self._walk(branch, inside, times, loops)
            costs.append((sum(self._flops_of(op) * op.times for op in self.ops[start:]), start, len(self.ops)))
            for out, var in zip(outs, branch.outvars, strict=True):
                self._link("~branch", self._get(inside, var), out, loops)
        for out in outs:
            self._link("~choice", choice, out, loops)
        dearest = max(costs, key=lambda cost: cost[0])
        for cost in costs:
            if cost is not dearest:
                for op in self.ops[cost[1] : cost[2]]:
                    op.times = 0

    def _kernel(self, eqn, env, times, loops, inner):
        grid = getattr(eqn.params.get("grid_mapping"), "grid", ())
        sizes = [size for size in grid if isinstance(size, int)]
        kernel = Kernel(math.prod(sizes))
        self._opaque(eqn, env, times, (*loops, kernel), inner, steps=kernel.steps)

    def _opaque(self, eqn, env, times, loops, inner, steps=1):
        """Walk inner programs whose signature is not that of the operation: all inputs reach all outputs."""
        own = self._own(eqn, env, times, loops[:-1] if loops and isinstance(loops[-1], Kernel) else loops)
        ins = [number for number in own.ins if number is not None]
        for jaxpr in inner:
            inside = {}
            for var in jaxpr.invars:
                number = self._new(inside, var)
                for source in ins:
                    self._link("~enter", source, number, loops)
            self._bind_constants(jaxpr, inside)
            self._walk(jaxpr, inside, times * steps, loops)

    def _mark_live(self):
        """Mark operations whose results do not reach an output as dead: tracing keeps them, no compiler does."""
        makers = {}
        for op in self.ops:
            for out in op.outs:
                makers.setdefault(out, []).append(op)
        live, pending = set(), [number for number in self.outputs if number is not None]
        for op in self.ops:
            op.live = op.in_kernel or not op.outs
            if op.live and op.name not in STRUCTURE:
                pending.extend(number for number in op.ins if number is not None)
        while pending:
            number = pending.pop()
            if number in live:
                continue
            live.add(number)
            for op in makers.get(number, ()):
                op.live = True
                pending.extend(source for source in op.ins if source is not None)


def plain(jaxpr):
    """Return the open jaxpr of a closed one."""
    while not hasattr(jaxpr, "eqns") or hasattr(jaxpr, "jaxpr"):
        jaxpr = jaxpr.jaxpr
    return jaxpr


def sub_jaxprs(params):
    """Return the jaxprs among an operation's parameters, in the order of the parameters' names."""
    found = []
    for key in sorted(params):
        values = params[key] if isinstance(params[key], tuple | list) else (params[key],)
        found.extend(plain(value) for value in values if hasattr(value, "eqns") or hasattr(value, "jaxpr"))
    return found


def _same_signature(jaxpr, eqn):
    return len(jaxpr.invars) == len(eqn.invars) and len(jaxpr.outvars) == len(eqn.outvars)
