"""What the `verify_*.py` scripts pass to each other in files: shapes as JSON, programs, reports that grow.

It needs the standard library, numpy and jax.
"""

import contextlib
import importlib.metadata
import json
import os
import traceback

import jax
import numpy as np
from verify_workload import is_static

MESSAGE_LIMIT = 8000
TRACEBACK_LIMIT = 20_000
_MAX_PROGRAM_BYTES = 1 << 30


class Report:
    """A JSON file that is whole on disk after every change, so that a crash or a limit loses only the step it hit."""

    def __init__(self, path, **value):
        self._path, self.value = path, value

    def save(self, **changes):
        """Update the report and put it on disk."""
        self.value |= changes
        beside = f"{self._path}.part"
        with open(beside, "w", encoding="utf-8") as stream:
            json.dump(self.value, stream)
        os.replace(beside, self._path)


def versions():
    """Return the versions of what decides a verdict in this interpreter."""
    found = {}
    for name in ("jax", "jaxlib", "libtpu"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def dtype_of(name):
    """Return the dtype of a name, those of ml_dtypes included."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes  # a dependency of jax

        return np.dtype(getattr(ml_dtypes, name))


def describe_tree(leaves, tree):
    """Return inputs as JSON: nested tuples, lists and dicts of shapes or Python values."""
    return _describe(jax.tree.unflatten(tree, [_Leaf(leaf) for leaf in leaves]))


class _Leaf:
    def __init__(self, value):
        self.value = value


def _describe(value):
    if isinstance(value, _Leaf):
        leaf = value.value
        if is_static(leaf):
            return {"static": leaf}
        return {"shape": list(leaf.shape), "dtype": str(leaf.dtype), "weak": bool(getattr(leaf, "weak_type", False))}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _describe(item) for key, item in value.items()}}
    if type(value) in (tuple, list):
        return {type(value).__name__: [_describe(item) for item in value]}
    if value is None:
        return {"static": None}
    raise TypeError(f"inputs may be arrays, numbers, tuples, lists and dicts with text keys, not {type(value)}")


def build_tree(node):
    """Return what `describe_tree` described, arrays as ShapeDtypeStruct."""
    if "static" in node:
        return node["static"]
    if "shape" in node:
        weak = {"weak_type": True} if node["weak"] else {}
        return jax.ShapeDtypeStruct(tuple(node["shape"]), dtype_of(node["dtype"]), **weak)
    if "dict" in node:
        return {key: build_tree(item) for key, item in node["dict"].items()}
    (kind,) = node
    items = [build_tree(item) for item in node[kind]]
    return tuple(items) if kind == "tuple" else items


def leaf_types(avals):
    """Return [[dtype, shape]] of abstract values, as JSON."""
    return [[str(aval.dtype), [int(n) for n in aval.shape]] for aval in avals]


def structure(tree):
    """Return a tree's structure as text in which tuples and lists read the same."""
    return str(tree).removeprefix("PyTreeDef").replace("[", "(").replace("]", ")").replace(",)", ")")


def write_program(folder, name, nodes, blob):
    """Write one encoded program as NAME.json and NAME.bin."""
    with open(os.path.join(folder, f"{name}.bin"), "wb") as stream:
        stream.write(blob)
    with open(os.path.join(folder, f"{name}.json"), "w", encoding="utf-8") as stream:
        json.dump(nodes, stream)


def read_program(folder, name):
    """Return (nodes, bytes) of a program that `write_program` wrote."""
    parts = []
    for suffix in ("json", "bin"):
        path = os.path.join(folder, f"{name}.{suffix}")
        if os.path.getsize(path) > _MAX_PROGRAM_BYTES:
            raise ValueError(f"{name}.{suffix} is larger than 1 GiB")
        with open(path, "rb") as stream:
            parts.append(stream.read())
    return json.loads(parts[0]), parts[1]


def error_of(error, file=None):
    """Return type, message, traceback and the line of `file` that an exception points at, its causes included."""
    line = None
    seen, pending = set(), [error]
    while pending:
        one = pending.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        lines = [f.lineno for f in traceback.extract_tb(one.__traceback__) if f.filename == file]
        line = line or (lines[-1] if lines else None)
        pending += [one.__cause__, one.__context__]
    if isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno
    return {
        "type": type(error).__name__,
        "message": _text(error)[:MESSAGE_LIMIT],
        "line": line,
        "traceback": _trace(error)[-TRACEBACK_LIMIT:],
    }


def _trace(error):
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        return ""


def _text(error):
    try:
        return str(error)
    except Exception as second:
        return f"(its text cannot be shown: {type(second).__name__})"
