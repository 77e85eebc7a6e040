"""The shipped workloads: published shapes, outputs that depend on every input, and an independent oracle in NumPy.

JAX runs on the CPU in this process. The oracles are written from the operators' definitions, as loops in float64.
"""

import ast
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ragctx.workload import read_workload

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax")

FOLDER = Path(__file__).resolve().parents[2] / "evaluation" / "workloads"
DEFAULT_TOLERANCE = (1e-2, 1e-2)

# Published inputs, outputs, and FLOPs where the published count is the operator's plain formula.
PUBLISHED: dict[str, tuple[list[str], str, int | None]] = {
    "1p_Flash_Attention": (["bfloat16[4,64,4096,128]"] * 3, "bfloat16[4,64,4096,128]", 2199023255552),
    "6p_Paged_Attention": (
        ["bfloat16[64,64,128]", *["bfloat16[16384,16,8,128]"] * 2, "int32[64]", "int32[64,256]", "int32[65]"],
        "bfloat16[64,64,128]",
        8589934592,
    ),
    "8p_GEMM": (["bfloat16[8192,8192]", "bfloat16[8192,28672]"], "bfloat16[8192,28672]", 3848290697216),
    "12p_RMSNorm": (["bfloat16[8,4096,8192]", "bfloat16[8192]"], "bfloat16[8,4096,8192]", None),
    "16p_Mamba2_SSD": (
        [*["bfloat16[4,64,4096,64]"] * 3, "float32[4,64,4096]"],
        "bfloat16[4,64,4096,64]",
        None,
    ),
    "22k_Conv2d_InstanceNorm_Divide": (
        ["bfloat16[128,64,128,128]", "bfloat16[128,64,3,3]", *["bfloat16[128]"] * 3],
        "bfloat16[128,128,126,126]",
        None,
    ),
}


def load(name: str, **sizes: int) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"workload_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.CONFIG.update(sizes)
    return module


def kind(array: Any) -> str:
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def as_float(array: Any) -> np.ndarray:
    return np.asarray(array).astype(np.float64)


def run(module: ModuleType, inputs: Any) -> np.ndarray:
    return as_float(jax.jit(module.workload)(*inputs))


@pytest.fixture(scope="module", params=sorted(PUBLISHED))
def at_check(request: pytest.FixtureRequest) -> tuple[ModuleType, list[tuple[Any, ...]], np.ndarray]:
    module = load(request.param)
    module.CONFIG.update(module.CHECK)
    inputs = [module.create_inputs(seed=seed) for seed in (0, 1)]
    return module, inputs, run(module, inputs[0])


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_shapes_and_types(name: str) -> None:
    module = load(name)
    inputs = jax.eval_shape(module.create_inputs)
    expected_inputs, expected_output, flops = PUBLISHED[name]
    assert [kind(array) for array in inputs] == expected_inputs
    assert kind(jax.eval_shape(module.workload, *inputs)) == expected_output
    if flops is not None:
        assert module.get_flops() == flops


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_files_read_without_running(name: str) -> None:
    source = read_workload(FOLDER / f"{name}.py")
    module = load(name)
    assert source.config == module.CONFIG
    assert source.check == module.CHECK
    assert set(module.CHECK) < set(module.CONFIG)
    assert source.functions == ("create_inputs", "workload", "get_flops")


def test_flops_follow_the_sizes() -> None:
    assert load("12p_RMSNorm", batch=2, seq_len=3, emb_dim=5).get_flops() == 4 * 30
    assert load("16p_Mamba2_SSD", batch=2, num_heads=3, seq_len=5, head_dim=7).get_flops() == 2 * 2 * 6 * 25 * 7
    small = load("22k_Conv2d_InstanceNorm_Divide", batch_size=2, in_channels=3, out_channels=4, height=5, width=6)
    assert small.get_flops() == 2 * (2 * 4 * 3 * 4) * 27


@pytest.mark.slow
def test_nothing_but_the_right_output_passes(at_check: tuple[ModuleType, list[tuple[Any, ...]], np.ndarray]) -> None:
    module, (inputs, others), right = at_check
    atol, rtol = getattr(module, "TOLERANCE", DEFAULT_TOLERANCE)

    def passes(other: np.ndarray) -> bool:
        return np.allclose(other, right, atol=atol, rtol=rtol)

    assert np.isfinite(right).all()
    assert 0.3 < right.std() < 3
    assert passes(run(module, inputs))
    assert not passes(np.zeros_like(right))
    assert not passes(np.full_like(right, right.mean()))
    assert not passes(np.full_like(right, np.median(right)))
    assert not passes(run(module, others))
    for i, other in enumerate(others):
        assert not passes(run(module, (*inputs[:i], other, *inputs[i + 1 :]))), f"input {i} does not matter"


@pytest.mark.slow
def test_few_outputs_are_hidden_by_the_tolerance(
    at_check: tuple[ModuleType, list[tuple[Any, ...]], np.ndarray],
) -> None:
    module, _, right = at_check
    atol, _ = getattr(module, "TOLERANCE", DEFAULT_TOLERANCE)
    assert np.mean(np.abs(right) <= atol) < 0.1


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    out = np.zeros_like(q)
    for b, h, i in np.ndindex(*q.shape[:3]):
        scores = np.array([q[b, h, i] @ k[b, h, j] for j in range(i + 1)]) / np.sqrt(q.shape[3])
        out[b, h, i] = softmax(scores) @ v[b, h, : i + 1]
    return out


def paged_attention(
    q: np.ndarray, k_pages: np.ndarray, v_pages: np.ndarray, lens: np.ndarray, pages: np.ndarray, starts: np.ndarray
) -> np.ndarray:
    out = np.zeros_like(q)
    page_size, group = k_pages.shape[1], q.shape[1] // k_pages.shape[2]
    for s in range(len(lens)):
        first, last = int(starts[s]), int(starts[s + 1])
        for row in range(first, last):
            seen = int(lens[s]) - (last - row) + 1
            places = [(int(pages[s, t // page_size]), t % page_size) for t in range(seen)]
            for h in range(q.shape[1]):
                keys = np.array([k_pages[page, slot, h // group] for page, slot in places])
                values = np.array([v_pages[page, slot, h // group] for page, slot in places])
                out[row, h] = softmax(keys @ q[row, h] / np.sqrt(q.shape[2])) @ values
    return out


def rms_norm(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    out = np.zeros_like(x)
    for i in np.ndindex(*x.shape[:-1]):
        out[i] = x[i] / np.sqrt(sum(value**2 for value in x[i]) / len(x[i]) + 1e-5) * weight
    return out


def state_space(c: np.ndarray, b: np.ndarray, x: np.ndarray, log_decay: np.ndarray) -> np.ndarray:
    out = np.zeros_like(x)
    for batch, head in np.ndindex(*x.shape[:2]):
        state = np.zeros((b.shape[3], x.shape[3]))
        for t in range(x.shape[2]):
            state = np.exp(log_decay[batch, head, t]) * state + np.outer(b[batch, head, t], x[batch, head, t])
            out[batch, head, t] = c[batch, head, t] @ state
    return out


def conv_norm(x: np.ndarray, w: np.ndarray, bias: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    size = w.shape[2]
    rows, columns = x.shape[2] - size + 1, x.shape[3] - size + 1
    out = np.zeros((x.shape[0], w.shape[0], rows, columns))
    for n, o in np.ndindex(*out.shape[:2]):
        for i, j in np.ndindex(rows, columns):
            out[n, o, i, j] = np.sum(x[n, :, i : i + size, j : j + size] * w[o])
        plane = out[n, o]
        normed = (plane - plane.mean()) / np.sqrt(plane.var() + 1e-5)
        out[n, o] = (normed * scale[o] + shift[o] + bias[o]) / 2.0
    return out


ORACLES: dict[str, tuple[Callable[..., np.ndarray], dict[str, int]]] = {
    "1p_Flash_Attention": (attention, {"batch": 2, "seq_len": 24, "num_heads": 2, "head_dim": 16}),
    "6p_Paged_Attention": (
        paged_attention,
        {
            "num_seqs": 6,
            "max_seq_len": 12,
            "num_query_heads": 4,
            "num_kv_heads": 2,
            "head_dim": 16,
            "page_size": 4,
            "pages_per_seq": 3,
        },
    ),
    "8p_GEMM": (lambda a, b: np.array([[row @ column for column in b.T] for row in a]), {"M": 12, "K": 40, "N": 9}),
    "12p_RMSNorm": (rms_norm, {"batch": 2, "seq_len": 3, "emb_dim": 48}),
    "16p_Mamba2_SSD": (state_space, {"batch": 2, "seq_len": 40, "num_heads": 3, "head_dim": 8}),
    "22k_Conv2d_InstanceNorm_Divide": (
        conv_norm,
        {"batch_size": 2, "in_channels": 3, "out_channels": 4, "height": 9, "width": 7},
    ),
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_the_operator_is_what_its_definition_says(name: str) -> None:
    oracle, sizes = ORACLES[name]
    module = load(name, **sizes)
    for seed in range(3):
        # The definition is compared in float32, where rounding hides no mistake.
        exact = module.create_inputs(dtype=jax.numpy.float32, seed=seed)
        expected = oracle(*(np.asarray(value, np.float64 if value.dtype.kind == "f" else None) for value in exact))
        assert np.abs(expected).max() > 0.5
        np.testing.assert_allclose(run(module, exact), expected, rtol=2e-4, atol=2e-5)
        # In the workload's own type, rounding stays within the tolerance that candidates get.
        rounded = module.create_inputs(seed=seed)
        values = [np.asarray(v) if v.dtype.kind == "i" else as_float(v) for v in rounded]
        atol, rtol = getattr(module, "TOLERANCE", DEFAULT_TOLERANCE)
        np.testing.assert_allclose(run(module, rounded), oracle(*values), rtol=rtol, atol=atol)


def test_paged_rows_are_shared_unevenly() -> None:
    module = load("6p_Paged_Attention", **ORACLES["6p_Paged_Attention"][1])
    counts = [np.diff(np.asarray(module.create_inputs(seed=seed)[5])) for seed in range(4)]
    assert all(rows.sum() == 6 for rows in counts)
    assert {0, 1, 2} <= {int(n) for rows in counts for n in rows}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_what_tolerances_need_a_reason(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "TOLERANCE":
            assert lines[node.lineno - 2].startswith("# ")
