from __future__ import annotations

import pytest
from installed_table import installed_table

from ragctx.failures import FailureKind
from ragctx.verify.api_errors import kind_of_runtime_error

NAME, KEYWORD = FailureKind.API_NAME, FailureKind.API_KEYWORD


@pytest.mark.parametrize(
    ("exc_type", "message", "kind"),
    [
        ("AttributeError", "module 'jax.experimental.pallas.tpu' has no attribute 'TPUCompilerParams'", NAME),
        ("AttributeError", "module 'jax.numpy' has no attribute 'erf'. Did you mean: 'exp'?", NAME),
        ("AttributeError", "module 'numpy' has no attribute 'float'", None),
        ("AttributeError", "module 'mykernels' has no attribute 'run'", None),
        ("AttributeError", "jax.experimental.pallas.load is deprecated. Use ref[idx] instead.", NAME),
        ("AttributeError", "jax.tree_map was removed in JAX v0.6.0; use jax.tree.map", NAME),
        ("AttributeError", "ANY", NAME),
        ("AttributeError", "type object 'MemorySpace' has no attribute 'ANY'", NAME),
        ("AttributeError", "'CompilerParams' object has no attribute 'vmem_limit'", NAME),
        ("AttributeError", "'AbstractRef' object has no attribute '_mul'", None),
        ("AttributeError", "'int' object has no attribute 'get_ref_aval'", None),
        ("AttributeError", "'ShapeDtypeStruct' object has no attribute 'get_ref_aval'", None),
        ("AttributeError", "'DynamicJaxprTracer' object has no attribute 'unsqueeze'", NAME),
        ("AttributeError", "'ArrayImpl' object has no attribute 'cuda'", NAME),
        ("AttributeError", "'NoneType' object has no attribute 'shape'", None),
        ("ImportError", "cannot import name 'load' from 'jax.experimental.pallas' (/x/pallas/__init__.py)", NAME),
        ("ImportError", "cannot import name 'x' from 'mykernels' (/x.py)", None),
        ("ModuleNotFoundError", "No module named 'jax.experimental.host_callback'", NAME),
        ("ModuleNotFoundError", "No module named 'torch'", None),
        ("TypeError", "pallas_call() got an unexpected keyword argument 'num_warps'", KEYWORD),
        ("TypeError", "BlockSpec.__init__() got an unexpected keyword argument 'indexing_mode'", KEYWORD),
        ("TypeError", "CompilerParams.__init__() got an unexpected keyword argument 'mosaic'", KEYWORD),
        ("TypeError", "PrefetchScalarGridSpec.__init__() missing 1 required positional argument: 'n'", KEYWORD),
        ("TypeError", "cdiv() takes 2 positional arguments but 3 were given", KEYWORD),
        ("TypeError", "pallas_call() got multiple values for argument 'out_shape'", KEYWORD),
        ("TypeError", "pallas_call() got an unexpected keyword argument 'grid'", None),
        ("TypeError", "<lambda>() takes 1 positional argument but 2 were given", None),
        ("TypeError", "workload.<locals>.kernel() takes 2 positional arguments but 3 were given", None),
        ("TypeError", "my_kernel() takes 2 positional arguments but 3 were given", None),
        ("TypeError", "Protocols cannot be instantiated", NAME),
        ("TypeError", "unhashable type: 'dict'", KEYWORD),
        ("TypeError", "'function' object is not iterable", KEYWORD),
        ("TypeError", "'function' object does not support the context manager protocol", KEYWORD),
        ("TypeError", "unsupported operand type(s) for +: 'int' and 'str'", None),
        ("ValueError", "shift must be non-negative.", KEYWORD),
        ("ValueError", "Grid must be a tuple of integers or jax.Array", None),
        ("jax._src.errors.TracerBoolConversionError", "Attempted boolean conversion", None),
        ("NameError", "name 'x' is not defined", None),
    ],
)
def test_kinds(exc_type: str, message: str, kind: FailureKind | None) -> None:
    assert kind_of_runtime_error(exc_type, message, installed_table()) is kind


def test_a_function_of_the_candidate_is_no_api() -> None:
    table = installed_table()
    text = "softmax() got an unexpected keyword argument 'scale'"
    assert kind_of_runtime_error("TypeError", text, table) is KEYWORD
    assert kind_of_runtime_error("TypeError", text, table, defined={"softmax"}) is None
    text = "Model.dot() takes 2 positional arguments but 3 were given"
    assert kind_of_runtime_error("TypeError", text, table, defined={"Model"}) is None
