"""Carries a traced program from the process that traced it to one that does not trust that process.

`encode` writes a closed jaxpr as JSON nodes and one block of array bytes; `decode` builds it again. It is no pickle:
nodes name only data, JAX's own primitives and JAX's own value classes (dataclasses, named tuples, enums, effects and
abstract values), instances are filled field by field without calling their constructors, and a name outside the
modules listed here is refused. Functions are never carried, so whoever decodes runs no code of whoever encoded.

Calls that only group operations (jit, custom derivatives) are inlined, placement (shardings, meshes) is dropped, and
what would run outside the device's program (host callbacks, foreign calls) is refused with `Unsafe`.

It needs the standard library, numpy and jax.
"""

import base64
import contextlib
import dataclasses
import enum
import importlib
import json
import os
import sys
from collections import deque

import jax
import numpy as np
from jax._src import core, effects, source_info_util

# Where classes and primitives may come from; everything is JAX's own and none of it acts on construction.
MODULES = (
    "jax._src.ad_checkpoint",
    "jax._src.ad_util",
    "jax._src.core",
    "jax._src.custom_derivatives",
    "jax._src.effects",
    "jax._src.indexing",
    "jax._src.lax",
    "jax._src.nn",
    "jax._src.numpy",
    "jax._src.pallas",
    "jax._src.pjit",
    "jax._src.prng",
    "jax._src.random",
    "jax._src.state",
    "jax._src.util",
)
# What runs on the host or hands work to code that is not in the program.
UNSAFE = frozenset(
    "pure_callback io_callback callback ffi_call custom_call tpu_custom_call infeed outfeed python_callback".split()
)
# Effects for a reader of the log only, and identities that only place data.
DROPPED = frozenset("debug_callback debug_print_callback".split())
# It asks which device a program is lowered for; the answer here is always a TPU.
PLATFORM = "platform_index"
IDENTITIES = frozenset("sharding_constraint mesh_cast pvary pbroadcast layout_constraint optimization_barrier".split())
INLINED = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}
# They say where an array lies, which the process that decodes decides itself.
_PLACEMENT = frozenset("NamedSharding UnspecifiedValue Mesh AbstractMesh GSPMDSharding SingleDeviceSharding".split())
_MAX_BYTES = 1 << 30


class Unsafe(ValueError):
    """The program holds something that must not be carried: work outside the device's program."""


class Unsupported(ValueError):
    """The program holds something this codec does not know, or the nodes are not its."""


class Refused(Unsupported):
    """The nodes name something that no traced program holds."""


def encode(closed, file=None):
    """Return (nodes, bytes) of a closed jaxpr; operations remember the lines of `file` they were written on."""
    encoder = _Encoder(file)
    return encoder.closed(closed), b"".join(encoder.blobs)


def decode(nodes, blob):
    """Return the closed jaxpr of `encode`'s result.

    Raises:
        Unsupported: If the nodes are not of that form or name anything that is not JAX's.
    """
    try:
        return _Decoder(blob).closed(nodes)
    except Unsupported:
        raise
    except Exception as error:
        raise Unsupported(f"malformed program: {type(error).__name__}: {error}") from error


def _allowed(module):
    return any(module == name or module.startswith(name + ".") for name in MODULES)


def _primitive_names():
    """Return {id of a primitive: "module:attribute"} over the modules that are loaded; the first name in order wins."""
    found = {}
    for name in sorted(sys.modules):
        if _allowed(name) or name == "jax._src.shard_map":
            for attribute, value in vars(sys.modules[name]).items():
                if isinstance(value, core.Primitive):
                    found.setdefault(id(value), f"{name}:{attribute}")
    return found


def _fields(value):
    """Return the instance's own data: its slots and its dictionary."""
    names = [n for cls in type(value).__mro__ for n in _slots(cls)]
    state = {n: getattr(value, n) for n in names if hasattr(value, n)}
    return state | getattr(value, "__dict__", {})


def _slots(cls):
    slots = cls.__dict__.get("__slots__", ())
    return [n for n in ([slots] if isinstance(slots, str) else slots) if not n.startswith("__")]


def _is_value_class(cls):
    """Return whether instances are plain values: what may be filled in without being constructed."""
    plain = (core.AbstractValue, effects.Effect)
    return (
        dataclasses.is_dataclass(cls)
        or issubclass(cls, plain)
        or cls.__name__ in ("Semaphore", "DMASemaphore", "BarrierSemaphore", "Slice", "NDIndexer", "Indexer")
        or cls.__module__.startswith("jax._src.pallas")
        and cls.__name__ in ("Empty", "NotSpecified")
    )


class _Encoder:
    def __init__(self, file):
        self.file, self.blobs, self.size, self.count = file, [], 0, 0
        self.primitives = _primitive_names()

    def closed(self, closed):
        constants = [self.array(np.asarray(c)) for c in closed.consts]
        return {"jaxpr": self.jaxpr(closed.jaxpr), "consts": constants}

    def jaxpr(self, jaxpr):
        env = {}
        node = {
            "constvars": [self.bind(v, env) for v in jaxpr.constvars],
            "invars": [self.bind(v, env) for v in jaxpr.invars],
            "debug": self.debug(jaxpr.debug_info),
        }
        eqns = []
        self.equations(jaxpr, env, eqns)
        node["eqns"] = eqns
        node["outvars"] = [self.atom(v, env) for v in jaxpr.outvars]
        node["effects"] = in_order(self.effect(e, env) for e in jaxpr.effects)
        return node

    def debug(self, info):
        if info is None:
            return None
        names = info.arg_names
        names = [str(n) for n in names] if isinstance(names, tuple | list) else None
        paths = getattr(info, "result_paths", None)
        paths = [str(p) for p in paths] if isinstance(paths, tuple | list) else None
        return [str(info.traced_for), self.text(str(info.func_src_info)), names, paths]

    def text(self, text):
        """Return a text without the folder of the candidate's file, which is another one each time."""
        return text.replace(self.file, os.path.basename(self.file)) if self.file else text

    def equations(self, jaxpr, env, eqns):
        """Append the operations, inlining calls; `env` maps variables to their numbers or what stands for them."""
        for eqn in jaxpr.eqns:
            name = eqn.primitive.name
            if name in UNSAFE:
                raise Unsafe(f"{name} runs work outside the device's program")
            if name in DROPPED:
                continue
            if name == PLATFORM:
                env[eqn.outvars[0]] = core.Literal(np.int32(_tpu_branch(eqn.params["platforms"])), eqn.outvars[0].aval)
            elif name in IDENTITIES and len(eqn.invars) == len(eqn.outvars):
                for var, atom in zip(eqn.outvars, eqn.invars, strict=True):
                    env[var] = self.substitute(atom, env)
            elif name in INLINED and INLINED[name] in eqn.params:
                self.inline(eqn, env, eqns)
            else:
                eqns.append(self.equation(eqn, env))

    def inline(self, eqn, env, eqns):
        inner = eqn.params[INLINED[eqn.primitive.name]]
        body, constants = (inner.jaxpr, inner.consts) if hasattr(inner, "jaxpr") else (inner, ())
        inside = {}
        for var, constant in zip(body.constvars, constants, strict=True):
            inside[var] = ("constant", self.array(np.asarray(constant)), self.aval(var.aval))
        for var, atom in zip(body.invars, eqn.invars, strict=True):
            inside[var] = self.substitute(atom, env)
        self.equations(_Body(body.eqns), inside, eqns)
        for var, atom in zip(eqn.outvars, body.outvars, strict=True):
            env[var] = self.substitute(atom, inside)

    def substitute(self, atom, env):
        return atom if isinstance(atom, core.Literal) else env[atom]

    def equation(self, eqn, env):
        reference = self.primitives.get(id(eqn.primitive))
        if reference is None:
            raise Unsupported(f"primitive {eqn.primitive.name} of {type(eqn.primitive).__module__} cannot be carried")
        node = {
            "p": reference,
            "in": [self.atom(v, env) for v in eqn.invars],
            "params": {k: self.value(v) for k, v in eqn.params.items() if k != "branches_platforms"},
            "out": [self.bind(v, env) for v in eqn.outvars],
            "effects": in_order(self.effect(e, env) for e in eqn.effects),
        }
        line = self.line(eqn.source_info)
        return node | {"line": line} if line else node

    def line(self, info):
        """Return the innermost line of the candidate's file that an operation comes from."""
        traceback = getattr(info, "traceback", None)
        if self.file is None or traceback is None:
            return None
        return next((f.line_num for f in traceback.frames if f.file_name == self.file), None)

    def bind(self, var, env):
        """Number a variable; a body that is inlined or shared gets numbers of its own each time."""
        if type(var).__name__ == "DropVar":
            return ["_", self.aval(var.aval)]
        self.count += 1
        env[var] = self.count
        return [self.count, self.aval(var.aval)]

    def atom(self, atom, env):
        atom = self.substitute(atom, env)
        if type(atom) is tuple:
            return {"const": atom[1], "aval": atom[2]}
        if isinstance(atom, core.Literal):
            return {"literal": self.literal(atom), "aval": self.aval(atom.aval)}
        return atom

    def literal(self, atom):
        value = atom.val
        if isinstance(value, np.ndarray | np.generic | jax.Array) or not hasattr(atom.aval, "dtype"):
            return self.value(np.asarray(value) if not isinstance(value, bool | int | float) else value)
        return self.array(np.asarray(value, atom.aval.dtype))

    def effect(self, effect, env):
        state = _fields(effect)
        for key, value in state.items():
            if isinstance(value, core.Var):
                return {"class": self.class_name(type(effect)), "field": key, "var": env[value]}
        return {"class": self.class_name(type(effect)), "state": {k: self.value(v) for k, v in state.items()}}

    def aval(self, aval):
        if type(aval) is core.ShapedArray:
            node = ["aval", list(aval.shape), self.value(aval.dtype), bool(aval.weak_type)]
            space = getattr(aval, "memory_space", None)
            return node if space is None or getattr(space, "name", "") == "Device" else [*node, self.value(space)]
        return self.value(aval)

    def array(self, array):
        data = np.ascontiguousarray(array).tobytes()
        self.blobs.append(data)
        self.size += len(data)
        if self.size > _MAX_BYTES:
            raise Unsupported("the program's constants are larger than 1 GiB")
        return ["array", self.value(array.dtype), list(array.shape), self.size - len(data), len(data)]

    def class_name(self, cls):
        if not _allowed(cls.__module__):
            raise Unsupported(f"{cls.__module__}.{cls.__qualname__} cannot be carried")
        return f"{cls.__module__}:{cls.__qualname__}"

    def value(self, v):
        if v is None or type(v) in (bool, int):
            return v
        if isinstance(v, str) and not isinstance(v, enum.Enum):
            return self.text(str(v))
        if type(v).__name__ in _PLACEMENT:
            return None
        for test, method in _ENCODERS:
            if test(v):
                return method(self, v)
        cls = type(v)
        if _is_value_class(cls):
            return ["object", self.class_name(cls), {k: self.value(x) for k, x in _fields(v).items()}]
        raise Unsupported(f"a {cls.__module__}.{cls.__qualname__} cannot be carried")

    def tree(self, tree):
        data = tree.node_data()
        if data is None:
            return "*" if tree.num_leaves else None
        cls, auxiliary = data
        if cls is type(None):
            return None
        builtin = cls in (tuple, list, dict, deque)
        name = cls.__name__ if builtin else self.class_name(cls)
        return [name, self.value(auxiliary), [self.tree(c) for c in tree.children()]]


def in_order(nodes):
    """Return nodes in an order that depends on nothing else."""
    return sorted(nodes, key=json.dumps)


class _Body:
    def __init__(self, eqns):
        self.eqns = eqns


def _is_named_tuple(v):
    return isinstance(v, tuple) and hasattr(v, "_fields")


def _dtype_name(dtype):
    return ["dtype", np.dtype(dtype).name]


def _is_key(v):
    return type(v).__name__ == "KeyTy"


_ENCODERS = (
    (lambda v: isinstance(v, float), lambda s, v: ["float", repr(float(v))]),
    (lambda v: isinstance(v, enum.Enum), lambda s, v: ["enum", s.class_name(type(v)), v.name]),
    (lambda v: isinstance(v, bool | int) and type(v) is not bool, lambda s, v: int(v)),
    (lambda v: isinstance(v, bytes), lambda s, v: ["bytes", base64.b64encode(v).decode()]),
    (lambda v: isinstance(v, complex), lambda s, v: ["complex", repr(v.real), repr(v.imag)]),
    (_is_key, lambda s, v: ["key", v._impl.name]),
    (lambda v: type(v).__name__ == "PRNGImpl", lambda s, v: ["prng", v.name]),
    (lambda v: isinstance(v, np.dtype), lambda s, v: _dtype_name(v)),
    (lambda v: isinstance(v, np.generic), lambda s, v: ["scalar", s.array(np.asarray(v))]),
    (lambda v: isinstance(v, np.ndarray | jax.Array), lambda s, v: s.array(np.asarray(v))),
    (lambda v: isinstance(v, type) and issubclass(v, np.generic), lambda s, v: ["type", np.dtype(v).name]),
    (
        lambda v: type(v).__name__ == "_ScalarMeta" or hasattr(v, "dtype") and isinstance(v, type),
        lambda s, v: ["type", np.dtype(v.dtype).name],
    ),
    (_is_named_tuple, lambda s, v: ["named", s.class_name(type(v)), [s.value(x) for x in v]]),
    (lambda v: isinstance(v, tuple), lambda s, v: ["tuple", [s.value(x) for x in v]]),
    (lambda v: isinstance(v, list), lambda s, v: ["list", [s.value(x) for x in v]]),
    (
        lambda v: isinstance(v, set | frozenset),
        lambda s, v: ["set", in_order(s.value(x) for x in v)],
    ),
    (
        lambda v: type(v).__name__ in ("dict", "FrozenDict", "mappingproxy", "immutabledict"),
        lambda s, v: ["dict", [[s.value(k), s.value(x)] for k, x in v.items()]],
    ),
    (lambda v: isinstance(v, core.ClosedJaxpr), lambda s, v: ["closed", s.closed(v)]),
    (lambda v: isinstance(v, core.Jaxpr), lambda s, v: ["jaxpr", s.jaxpr(v)]),
    (lambda v: isinstance(v, jax.tree_util.PyTreeDef), lambda s, v: ["tree", s.tree(v)]),
    (lambda v: type(v) is core.ShapedArray, lambda s, v: s.aval(v)),
    (
        lambda v: isinstance(v, jax.ShapeDtypeStruct),
        lambda s, v: ["struct", [int(n) for n in v.shape], s.value(np.dtype(v.dtype))],
    ),
)


_REFUSED = UNSAFE | DROPPED | {PLATFORM}
_NO_PLATFORMS = {"branches_platforms": None}


def _tpu_branch(platforms):
    """Return which of a program's branches by platform a TPU takes."""
    return next(i for i, names in enumerate(platforms) if names is None or "tpu" in names)


class _Decoder:
    def __init__(self, blob):
        self.blob, self.vars, self.gensym = blob, {}, core.gensym()
        self.constants = None

    def closed(self, node):
        outer, self.constants = self.constants, []
        jaxpr = self.jaxpr(node["jaxpr"])
        added, self.constants = self.constants, outer
        consts = [self.array(*c[1:]) for c in node["consts"]]
        jaxpr = _with_constvars(jaxpr, [*jaxpr.constvars, *[var for var, _ in added]])
        return core.ClosedJaxpr(jaxpr, [*consts, *[value for _, value in added]])

    def jaxpr(self, node):
        constvars = [self.var(v) for v in node["constvars"]]
        invars = [self.var(v) for v in node["invars"]]
        eqns = [self.equation(e) for e in node["eqns"]]
        outvars = [self.atom(v) for v in node["outvars"]]
        found = {self.effect(e) for e in node["effects"]}
        return core.Jaxpr(
            constvars, invars, outvars, eqns, found, debug_info=self.debug(node["debug"], invars, outvars)
        )

    def debug(self, node, invars, outvars):
        if node is None:
            return None
        from jax._src import linear_util as lu

        traced_for, where, names, paths = node
        names = tuple(names) if names is not None and len(names) == len(invars) else None
        paths = tuple(paths) if paths is not None and len(paths) == len(outvars) else None
        return lu.DebugInfo(traced_for, where, names, paths)

    def equation(self, node):
        primitive = self.primitive(node["p"])
        params = {k: self.value(v) for k, v in node["params"].items()}
        if primitive.name == "cond":
            params |= _NO_PLATFORMS
        ins = [self.atom(v) for v in node["in"]]
        outs = [self.var(v) for v in node["out"]]
        found = {self.effect(e) for e in node["effects"]}
        return core.new_jaxpr_eqn(ins, outs, primitive, params, found, self.source(node.get("line")))

    def source(self, line):
        stack = source_info_util.NameStack()
        if line is not None:
            stack = stack.extend(f"line_{int(line)}")
        return source_info_util.SourceInfo(None, stack)

    def primitive(self, reference):
        value = self.resolve(reference)
        if not isinstance(value, core.Primitive) or value.name in _REFUSED:
            raise Refused(f"{reference} is not a primitive that may be carried")
        return value

    def resolve(self, reference):
        module, _, path = reference.partition(":")
        if not _allowed(module):
            raise Refused(f"{reference} may not be named")
        value = importlib.import_module(module)
        for part in path.split("."):
            if part.startswith("__"):
                raise Refused(f"{reference} may not be named")
            value = vars(value)[part]
        return value

    def value_class(self, reference):
        cls = self.resolve(reference)
        if not isinstance(cls, type) or not _allowed(cls.__module__):
            raise Refused(f"{reference} is not a class that may be carried")
        return cls

    def var(self, node):
        number, aval = node
        aval = self.value(aval)
        if number == "_":
            return core.DropVar(aval)
        if number in self.vars:
            raise Unsupported(f"variable {number} is bound twice")
        self.vars[number] = self.gensym(aval)
        return self.vars[number]

    def atom(self, node):
        if isinstance(node, dict) and "const" in node:
            if self.constants is None:
                raise Unsupported("a constant outside a closed program")
            var = self.gensym(self.value(node["aval"]))
            self.constants.append((var, self.array(*node["const"][1:])))
            return var
        if isinstance(node, dict):
            aval, value = self.value(node["aval"]), self.value(node["literal"])
            if isinstance(value, np.ndarray) and value.ndim == 0:
                value = value[()]
            return _literal(value, aval)
        return self.vars[node]

    def effect(self, node):
        cls = self.value_class(node["class"])
        if not issubclass(cls, effects.Effect):
            raise Refused(f"{node['class']} is no effect")
        effect = cls.__new__(cls)
        if "var" in node:
            object.__setattr__(effect, str(node["field"]), self.vars[node["var"]])
        for key, value in node.get("state", {}).items():
            object.__setattr__(effect, key, self.value(value))
        return effect

    def array(self, dtype, shape, offset, length):
        dtype = self.value(dtype)
        count = int(np.prod(shape, dtype=np.int64))
        if not isinstance(dtype, np.dtype) or dtype.hasobject or count * dtype.itemsize != length or offset < 0:
            raise Unsupported("an array's bytes are not those of its shape")
        return np.frombuffer(self.blob, dtype, count, offset).reshape(shape)

    def value(self, node):
        if node is None or type(node) in (bool, int, str):
            return node
        if type(node) is not list or not node or node[0] not in _DECODERS:
            raise Unsupported(f"unknown node {str(node)[:60]}")
        return _DECODERS[node[0]](self, *node[1:])

    def object(self, reference, state):
        cls = self.value_class(reference)
        if not _is_value_class(cls):
            raise Refused(f"{reference} is not a value that may be carried")
        value = cls.__new__(cls)
        for key, item in state.items():
            object.__setattr__(value, key, self.value(item))
        return value

    def named(self, reference, items):
        cls = self.value_class(reference)
        if not (issubclass(cls, tuple) and hasattr(cls, "_fields")) or len(cls._fields) != len(items):
            raise Refused(f"{reference} is no named tuple of {len(items)}")
        return tuple.__new__(cls, [self.value(item) for item in items])

    def enum(self, reference, name):
        cls = self.value_class(reference)
        if not issubclass(cls, enum.Enum):
            raise Refused(f"{reference} is no enum")
        return cls[name]

    def aval(self, shape, dtype, weak, space=None):
        shape = tuple(int(n) for n in shape)
        if space is None:
            return core.ShapedArray(shape, self.value(dtype), weak_type=bool(weak))
        return core.ShapedArray(shape, self.value(dtype), weak_type=bool(weak), memory_space=self.value(space))

    def tree(self, node):
        """Return the tree definition, in the registry of users' trees or, failing that, of the tracer's own."""
        from jax._src import tree_util

        try:
            return self.tree_of(node, tree_util.default_registry)
        except RuntimeError:
            return self.tree_of(node, tree_util.tracing_registry)

    def tree_of(self, node, registry):
        if node is None or node == "*":
            return registry.flatten(None if node is None else 0)[1]
        name, auxiliary, children = node
        builtin = {"tuple": tuple, "list": list, "dict": dict, "deque": deque}
        cls = builtin.get(name) or self.value_class(name)
        tree = jax.tree_util.PyTreeDef
        if not hasattr(tree, "from_node_data_and_children"):
            return registry.flatten(self.tree_object(node))[1]
        data, inner = (cls, self.value(auxiliary)), [self.tree_of(c, registry) for c in children]
        return tree.from_node_data_and_children(registry, data, inner)

    def tree_object(self, node):
        """Return an object of a tree's form, for a JAX that makes trees from objects only."""
        from jax._src import tree_util

        if node is None or node == "*":
            return None if node is None else object()  # a number would be taken for a static index
        name, auxiliary, children = node
        inner, auxiliary = [self.tree_object(c) for c in children], self.value(auxiliary)
        if name in ("tuple", "list"):
            return tuple(inner) if name == "tuple" else inner
        if name == "dict":
            return dict(zip(auxiliary, inner, strict=True))
        return tree_util._registry[self.value_class(name)].from_iter(auxiliary, inner)

    def key(self, name):
        return _prng().KeyTy(self.prng(name))

    def prng(self, name):
        return _prng().prngs[name]


_DECODERS = {
    "float": lambda s, text: float(text),
    "complex": lambda s, real, imag: complex(float(real), float(imag)),
    "bytes": lambda s, text: base64.b64decode(text),
    "enum": _Decoder.enum,
    "dtype": lambda s, name: _dtype(name),
    "type": lambda s, name: _dtype(name).type,
    "scalar": lambda s, node: s.array(*node[1:])[()],
    "array": _Decoder.array,
    "named": _Decoder.named,
    "tuple": lambda s, items: tuple(s.value(i) for i in items),
    "list": lambda s, items: [s.value(i) for i in items],
    "set": lambda s, items: frozenset(s.value(i) for i in items),
    "dict": lambda s, items: {s.value(k): s.value(v) for k, v in items},
    "closed": lambda s, node: s.closed(node),
    "jaxpr": lambda s, node: s.jaxpr(node),
    "tree": _Decoder.tree,
    "struct": lambda s, shape, dtype: jax.ShapeDtypeStruct(tuple(shape), s.value(dtype)),
    "aval": _Decoder.aval,
    "object": _Decoder.object,
    "key": _Decoder.key,
    "prng": _Decoder.prng,
}


def _prng():
    """Return the module of random keys, which has moved."""
    for name in ("jax._src.random.prng", "jax._src.prng"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    raise Unsupported("this JAX has no module of random keys that is known here")


def _dtype(name):
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes  # a dependency of jax

        return np.dtype(getattr(ml_dtypes, name))


def _literal(value, aval):
    if isinstance(value, np.generic) and getattr(aval, "weak_type", False):
        # A weakly typed scalar is a Python number in a jaxpr; operations promote by that.
        value = value.item() if value.dtype.kind in "biuf" else value
    return core.Literal(value, aval)


def _with_constvars(jaxpr, constvars):
    if len(constvars) == len(jaxpr.constvars):
        return jaxpr
    return core.Jaxpr(constvars, jaxpr.invars, jaxpr.outvars, jaxpr.eqns, jaxpr.effects, debug_info=jaxpr.debug_info)
