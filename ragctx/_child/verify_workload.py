"""Loads workload and candidate files, sets their sizes and makes their inputs, for the `verify_*.py` scripts.

It needs the standard library, numpy and jax. Importing it imports JAX.
"""

import contextlib
import importlib.util
import inspect
import os
import sys

import jax
import numpy as np
from jax.sharding import AbstractMesh, PartitionSpec

try:
    from jax.sharding import AbstractDevice, use_abstract_mesh
except ImportError:  # JAX below 0.7: lowering asks no device there
    AbstractDevice = None


def load(path, name):
    """Run a Python file by path and return its module; its folder is importable, after everything installed."""
    sys.dont_write_bytecode = True
    sys.path.append(os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def sizes(module, overrides):
    """Lay `overrides` over a module's CONFIG, in place as its functions read it, and take them off again."""
    config = getattr(module, "CONFIG", None)
    if not isinstance(config, dict):
        yield
        return
    before = dict(config)
    config.update(overrides)
    try:
        yield
    finally:
        config.clear()
        config.update(before)


def matching(module, overrides):
    """Return the overrides whose keys the module's own CONFIG has."""
    config = getattr(module, "CONFIG", None)
    return {k: v for k, v in overrides.items() if isinstance(config, dict) and k in config}


def plain_sizes(mapping):
    """Return the entries that JSON carries unchanged."""
    return {str(k): v for k, v in mapping.items() if isinstance(v, bool | int | float | str) or _plain_list(v)}


def _plain_list(value):
    return isinstance(value, list | tuple) and all(isinstance(x, bool | int | float | str) for x in value)


def tpu_in_context(device_kind, cores):
    """Put an abstract TPU in context; without one valid kernels fail with `Unsupported TPU device kind: cpu`."""
    if AbstractDevice is None:
        return contextlib.nullcontext()
    try:
        device = AbstractDevice(device_kind, cores, "tpu")
    except TypeError:  # before it took a platform
        device = AbstractDevice(device_kind, cores)
    return use_abstract_mesh(AbstractMesh((1,), ("_x",), abstract_device=device))


def tpu_mesh(axes, device_kind, cores):
    """Return an abstract mesh of TPU devices, as a kernel's tracing wants it."""
    if AbstractDevice is None:
        return AbstractMesh(tuple(axes.values()), tuple(axes))
    with tpu_in_context(device_kind, cores):
        device = jax.sharding.get_abstract_mesh().abstract_device
    return AbstractMesh(tuple(axes.values()), tuple(axes), abstract_device=device)


def call_create_inputs(module, seed):
    """Call `create_inputs` for a seed; returns its value as a tuple.

    A `seed` argument gets the seed; without one it is folded into what makes keys and NumPy generators meanwhile.
    """
    parameters = inspect.signature(module.create_inputs).parameters
    given = {}
    if "dtype" in parameters and parameters["dtype"].default is inspect.Parameter.empty:
        given["dtype"] = jax.numpy.bfloat16
    if "seed" in parameters:
        inputs = module.create_inputs(**given, seed=seed)
    else:
        with folded_seed(seed):
            inputs = module.create_inputs(**given)
    return tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)


@contextlib.contextmanager
def folded_seed(seed):
    """Make keys and NumPy generators built meanwhile depend on `seed`; seed 0 leaves them as they are."""
    if not seed:
        yield
        return
    key, prng_key, rng, state = jax.random.key, jax.random.PRNGKey, np.random.default_rng, np.random.RandomState
    fold = jax.random.fold_in
    legacy = np.random.seed  # noqa: TID251 - it is the workload that may call it
    before = np.random.get_state()
    jax.random.key = lambda s=0, **kw: fold(key(s, **kw), seed)
    jax.random.PRNGKey = lambda s=0, **kw: fold(prng_key(s, **kw), seed)
    np.random.default_rng = lambda s=0: rng([seed, s if isinstance(s, int) else 0])
    np.random.RandomState = lambda s=0: state((seed * 1_000_003 + (s if isinstance(s, int) else 0)) % 2**32)
    np.random.seed = lambda s=0: legacy((seed * 1_000_003 + s) % 2**32)  # noqa: TID251
    legacy(seed % 2**32)
    try:
        yield
    finally:
        jax.random.key, jax.random.PRNGKey, np.random.default_rng, np.random.RandomState = key, prng_key, rng, state
        np.random.seed = legacy  # noqa: TID251
        np.random.set_state(before)


def is_static(leaf):
    """Return whether an input leaf is a Python value that the program is specialised to, not an array."""
    return leaf is None or isinstance(leaf, bool | int | float | str)


def abstract_inputs(module):
    """Return (leaves, tree) of the inputs: shapes and dtypes, or Python values, with nothing allocated."""
    found = {}

    def arrays():
        leaves, found["tree"] = jax.tree.flatten(call_create_inputs(module, 0))
        found["leaves"] = leaves
        return [leaf for leaf in leaves if not is_static(leaf)]

    shapes = iter(jax.eval_shape(arrays))
    return [leaf if is_static(leaf) else next(shapes) for leaf in found["leaves"]], found["tree"]


def abstract_inputs_at(module, overrides):
    """Return `abstract_inputs` at other sizes."""
    with sizes(module, overrides):
        return abstract_inputs(module)


def make_inputs(module, seed):
    """Return the array leaves of the inputs for a seed."""
    return [leaf for leaf in jax.tree.leaves(call_create_inputs(module, seed)) if not is_static(leaf)]


def flat(function, leaves, tree):
    """Return `function` over the array leaves alone; static leaves stay what they are."""
    fixed = list(leaves)

    def run(*arrays):
        given = iter(arrays)
        args = [leaf if is_static(leaf) else next(given) for leaf in fixed]
        return function(*jax.tree.unflatten(tree, args))

    return run


def entry_point(module):
    """Return a candidate's or workload's function, or None: `workload`, or a `Model` that is called."""
    function = getattr(module, "workload", None)
    if callable(function):
        return function
    model = getattr(module, "Model", None)
    return model() if callable(model) else None


def partition_specs(module, count):
    """Return (in_specs, out_specs) of a workload with MESH_AXES, one in-spec a top-level input."""
    stated = getattr(module, "IN_SPECS", None)
    ins = tuple(spec_of(value) for value in (stated if stated is not None else [None] * count))
    out = getattr(module, "OUT_SPEC", None)
    return ins, tuple(spec_of(v) for v in out) if isinstance(out, list) else spec_of(out)


def spec_of(value):
    """Return the PartitionSpec of one entry of IN_SPECS or of OUT_SPEC."""
    if value is None:
        return PartitionSpec()
    return PartitionSpec(value) if isinstance(value, str) else PartitionSpec(*value)


def shard_map(function, mesh, in_specs, out_specs):
    """Return `function` mapped over a mesh, under whatever name this JAX has for it."""
    if hasattr(jax, "shard_map"):
        return jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)
    from jax.experimental.shard_map import shard_map as older

    return older(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_rep=False)
