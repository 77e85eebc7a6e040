"""Facts of small programs whose figures can be computed by hand; one child process a program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragctx.errors import RagctxError
from ragctx.workload import (
    ArrayFact,
    ArrayUse,
    LoopFact,
    ReductionFact,
    TraceError,
    WorkloadFacts,
    facts_for,
    trace,
)

HEAD = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "w.py"
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def facts_of(folder: Path, parameters: str, inputs: str, *body: str, target: str = "v6e") -> WorkloadFacts:
    lines = "\n".join(f"    {line}" for line in body)
    text = f"def create_inputs(dtype=jnp.float32):\n    return ({inputs},)\ndef workload({parameters}):\n{lines}\n"
    return trace(write(folder, text), target=target)


MATMUL = '''"""A product with a bias."""
import jax
import jax.numpy as jnp
CONFIG = {"M": 256, "K": 512, "N": 384, "dtype": jnp.bfloat16}
CHECK = {"M": 64}
def create_inputs(dtype=jnp.bfloat16, seed=0):
    key = jax.random.key(seed)
    x = jax.random.normal(key, (CONFIG["M"], CONFIG["K"]), dtype)
    return x, jnp.ones((CONFIG["K"], CONFIG["N"]), dtype), jnp.ones(CONFIG["N"], jnp.float32)
def workload(x, w, bias):
    unused = x @ x.T
    return jnp.dot(x, w, preferred_element_type=jnp.float32) + bias
'''


@pytest.fixture(scope="module")
def matmul(tmp_path_factory: pytest.TempPathFactory) -> WorkloadFacts:
    path = tmp_path_factory.mktemp("matmul") / "256_Matmul.py"
    path.write_text(MATMUL, encoding="utf-8")
    return trace(path)


def test_arrays_at_both_sizes(matmul: WorkloadFacts) -> None:
    assert matmul.inputs == (
        ArrayFact("x", (256, 512), "bfloat16", 262144, True, 32, 128, (64, 512)),
        ArrayFact("w", (512, 384), "bfloat16", 393216, True, 32, 128, (512, 384)),
        ArrayFact("bias", (384,), "float32", 1536, True, 1, 128, (384,)),
    )
    assert matmul.outputs == (ArrayFact("output", (256, 384), "float32", 393216, True, 32, 128, (64, 384)),)


def test_operations_and_bytes_without_dead_code(matmul: WorkloadFacts) -> None:
    assert matmul.primitives == {"add": 1, "broadcast_in_dim": 1, "dot_general": 1}
    assert matmul.matmul_flops == 2 * 256 * 512 * 384
    assert matmul.flops == 2 * 256 * 512 * 384 + 256 * 384
    assert matmul.bytes == 262144 + 393216 + 1536 + 393216
    assert matmul.intensity == matmul.flops / matmul.bytes
    assert matmul.compute_dtype == "bfloat16"
    assert matmul.ridge == pytest.approx(920 / 1.64)
    assert matmul.bound == "memory"


def test_what_stands_in_the_file(matmul: WorkloadFacts) -> None:
    assert (matmul.name, matmul.task, matmul.traced, matmul.note) == ("256_Matmul", "A product with a bias.", True, "")
    assert matmul.config == {"M": 256, "K": 512, "N": 384, "dtype": "bfloat16"}
    assert matmul.check == {"M": 64}
    assert list(matmul.versions) == ["jax"]
    assert matmul.source == MATMUL


def test_inner_programs_are_counted(tmp_path: Path) -> None:
    facts = facts_of(
        tmp_path,
        "x, n",
        "jnp.zeros((4, 8)), jnp.zeros((), jnp.int32)",
        "x = jax.jit(jax.checkpoint(jnp.sin))(x)",  # 32
        "x = jax.nn.relu(x)",  # custom_jvp: 32
        "x, _ = lax.scan(lambda c, _: (jnp.cos(c), None), x, None, length=5)",  # 5 * 32
        "x = lax.cond(n > 0, lambda v: jnp.exp(jnp.tanh(v)), lambda v: v * 2, x)",  # the dearer branch: 64
        "x = lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] / 3), (0, x))[1]",  # once: 32
        "return x.sum()",  # 32
    )
    assert facts.flops == 32 + 32 + 160 + 64 + 32 + 32
    for primitive in ("cond", "cos", "div", "exp", "max", "mul", "reduce_sum", "scan", "sin", "tanh", "while"):
        assert facts.primitives[primitive] == 1, primitive
    assert facts.uncounted == ("while",)
    assert facts.data_dependent == ("while until a condition on n",)
    assert facts.loops == (
        LoopFact("scan", 5, 1, False, pytest.approx(160 / 352)),
        LoopFact("while", None, 1, False, pytest.approx(32 / 352)),
    )


def test_convolutions_and_ragged_products(tmp_path: Path) -> None:
    facts = facts_of(
        tmp_path,
        "x, w, t, a, b, sizes",
        "jnp.zeros((2, 6, 10, 10)), jnp.zeros((8, 3, 3, 3)), jnp.zeros((6, 8, 2, 2)), "
        "jnp.zeros((16, 8)), jnp.zeros((4, 8, 32)), jnp.zeros(4, jnp.int32)",
        "y = lax.conv_general_dilated(x, w, (1, 1), 'VALID', feature_group_count=2)",
        "pads, numbers = ((1, 1), (1, 1)), ('NCHW', 'IOHW', 'NCHW')",
        "z = lax.conv_general_dilated(x, t, (1, 1), pads, lhs_dilation=(2, 2), dimension_numbers=numbers)",
        "return y, z, lax.ragged_dot(a, b, sizes)",
    )
    grouped = 2 * (2 * 8 * 8 * 8) * 3 * 9
    transposed = 2 * (2 * 8 * 20 * 20) * 6 * 4 // 4
    assert facts.flops == facts.matmul_flops == grouped + transposed + 2 * 16 * 32 * 8
    assert facts.data_dependent == ("ragged_dot_general with groups of sizes",)
    assert [array.name for array in facts.outputs] == ["output[0]", "output[1]", "output[2]"]


def test_a_kernel_counts_once_a_grid_step(tmp_path: Path) -> None:
    facts = facts_of(
        tmp_path,
        "x, y",
        "jnp.zeros((512, 256)), jnp.zeros((256, 512))",
        "from jax.experimental import pallas as pl",
        "def kernel(a, b, o):",
        "    o[...] = jnp.dot(a[...], b[...], preferred_element_type=jnp.float32)",
        "spec = pl.BlockSpec",
        "return pl.pallas_call(kernel, grid=(4, 2), in_specs=[spec((128, 256), lambda i, j: (i, 0)),",
        "    spec((256, 256), lambda i, j: (0, j))], out_specs=spec((128, 256), lambda i, j: (i, j)),",
        "    out_shape=jax.ShapeDtypeStruct((512, 512), jnp.float32))(x, y)",
    )
    assert facts.flops == facts.matmul_flops == 2 * 512 * 256 * 512
    assert facts.primitives == {"dot_general": 1, "get": 2, "pallas_call": 1, "swap": 1}
    assert facts.intermediates == ()


LOOPS = {
    "written at the counter": ("lax.fori_loop(0, 8, lambda i, a: a.at[i].set(x[i] * 2), jnp.zeros_like(x))", True),
    "written in blocks": (
        "lax.fori_loop(0, 4, lambda i, a: lax.dynamic_update_slice_in_dim(a, "
        "lax.dynamic_slice_in_dim(x, i * 2, 2) * 2, i * 2, 0), jnp.zeros_like(x))",
        True,
    ),
    "written at a scanned range": (
        "lax.scan(lambda a, i: (a.at[i].set(x[i] * 2), None), jnp.zeros_like(x), jnp.arange(8))[0]",
        True,
    ),
    "mapped": ("lax.map(lambda r: r * 2, x)", True),
    "trips depend on data": ("lax.fori_loop(0, n, lambda i, a: a.at[i].set(x[i] * 2), jnp.zeros_like(x))", True),
    "the carry is read": ("lax.fori_loop(0, 8, lambda i, a: a.at[i].set(a[i - 1] * 2), jnp.zeros_like(x))", False),
    "places collide": ("lax.fori_loop(0, 8, lambda i, a: a.at[i // 2].set(x[i] * 2), jnp.zeros_like(x))", False),
    "places depend on data": ("lax.fori_loop(0, 8, lambda i, a: a.at[p[i]].set(x[i] * 2), jnp.zeros_like(x))", False),
    "one place": ("lax.fori_loop(0, 8, lambda i, a: a.at[0].set(x[i] * 2), jnp.zeros_like(x))", False),
    "a sum": ("lax.fori_loop(0, 8, lambda i, a: a + x[i] * 2, jnp.zeros(4))", False),
    "a recurrence that collects": ("lax.scan(lambda c, r: (c * 0.5 + r, c), jnp.zeros(4), x)[1]", False),
}


def test_which_loops_are_independent(tmp_path: Path) -> None:
    body = ", ".join(code for code, _ in LOOPS.values())
    inputs = "jnp.zeros((8, 4)), jnp.zeros(8, jnp.int32), jnp.zeros((), jnp.int32)"
    facts = facts_of(tmp_path, "x, p, n", inputs, f"return ({body})")
    found = dict(zip(LOOPS, (loop.independent for loop in facts.loops), strict=True))
    assert found == {name: expected for name, (_, expected) in LOOPS.items()}
    assert sum("use jax.vmap" in sentence for sentence in facts.advice) == 3  # 8 trips, 4 trips, unknown trips


def test_addresses_that_depend_on_data(tmp_path: Path) -> None:
    facts = facts_of(
        tmp_path,
        "x, rows, start, lengths",
        "jnp.zeros((16, 128)), jnp.zeros(4, jnp.int32), jnp.zeros((), jnp.int32), jnp.zeros(16, jnp.int32)",
        "taken = x[rows]",
        "window = lax.dynamic_slice(x, (start, 0), (4, 128))",
        "still = x[jnp.array([1, 2])]",
        "inside = jnp.where(jnp.arange(128)[None, :] < lengths[:, None], x, 0)",
        "causal = jnp.where(jnp.arange(16)[:, None] >= jnp.arange(128), x, 0)",
        "best = jnp.take_along_axis(x, jnp.argmax(x, -1)[:, None], 1)",
        "return taken, window, still, inside, causal, best, jnp.zeros((16, 128)).at[rows].add(taken)",
    )
    assert facts.data_dependent == (
        "dynamic_slice at start",
        "gather indexed by rows",
        "gather indexed by x",
        "mask by lengths",
        "scatter-add indexed by rows",
    )
    assert (
        "The values of rows, start, lengths decide on addresses or sizes: hand them over by scalar prefetch "
        "(pltpu.PrefetchScalarGridSpec), so that index maps and the kernel can read them."
    ) in facts.advice


def test_reductions_and_their_further_use(tmp_path: Path) -> None:
    facts = facts_of(
        tmp_path,
        "x, y",
        "jnp.zeros((4, 8, 128)), jnp.zeros((8, 128))",
        "normed = x - jnp.mean(x, axis=(1, 2), keepdims=True)",
        "return normed, jnp.max(y, axis=0), jnp.argmin(y, axis=1)",
    )
    assert facts.reductions == (
        ReductionFact("reduce_sum", (4, 8, 128), (1, 2), True),
        ReductionFact("reduce_max", (8, 128), (0,), False),
        ReductionFact("argmin", (8, 128), (1,), False),
    )


def test_a_score_matrix_is_followed_to_its_end(tmp_path: Path) -> None:
    facts = facts_of(
        tmp_path,
        "q, k, v",
        "*[jnp.zeros((2, 8192, 64), jnp.bfloat16)] * 3",
        "s = jnp.einsum('bqd,bkd->bqk', q, k, preferred_element_type=jnp.float32)",
        "return jnp.einsum('bqk,bkd->bqd', jax.nn.softmax(s).astype(v.dtype), v)",
    )
    scores = facts.intermediates[0]
    assert (scores.name, scores.shape, scores.bytes) == ("dot_general", (2, 8192, 8192), 2 * 8192 * 8192 * 4)
    assert not scores.fits_vmem
    assert scores.use == ArrayUse(
        through=("div", "exp", "sub"),
        consumers=("dot_general", "reduce_max", "reduce_sum"),
        stored=False,
        batch_rank=1,
    )
    assert (
        "The dot_general result (2, 8192, 8192) takes 536.9 MB in float32 and does not fit the 128 MiB of VMEM (one "
        "slice over its batch dimensions, (8192, 8192), takes 268.4 MB: does not): stream over it in blocks "
        "with an online softmax (running maximum, running sum and the accumulated product)."
    ) in facts.advice


def test_a_mesh_shows_one_device_s_share(tmp_path: Path) -> None:
    text = """
CONFIG = {"n": 64}
CHECK = {"n": 32}
MESH_AXES = {"x": 4}
IN_SPECS = ["x", (None, "x")]
OUT_SPEC = "x"
def create_inputs(dtype=jnp.bfloat16):
    return jnp.zeros((CONFIG["n"], 256), dtype), jnp.zeros((256, 256), dtype)
def workload(x, w):
    full = lax.all_gather(w, "x", axis=1, tiled=True)
    return lax.psum_scatter(x @ full, "x", scatter_dimension=1, tiled=True)
"""
    facts = trace(write(tmp_path, text))
    assert facts.mesh == {"x": 4}
    assert [(a.name, a.shape, a.check_shape) for a in (*facts.inputs, *facts.outputs)] == [
        ("x", (16, 256), (8, 256)),
        ("w", (256, 64), (256, 64)),
        ("output", (16, 64), (8, 64)),
    ]
    assert facts.flops == 2 * 16 * 256 * 256
    assert facts.collectives == ("all_gather", "reduce_scatter")


def test_inputs_may_be_trees_and_a_function_s_signature_varies(tmp_path: Path) -> None:
    text = """
CONFIG = {"n": 8}
def create_inputs(dtype, seed):
    return {"w": jnp.zeros((CONFIG["n"], 4), dtype), "b": [jnp.zeros(4)]}, 3
workload = jax.jit(lambda params, *rest: params["w"] * rest[0] + params["b"][0])
"""
    facts = trace(write(tmp_path, text))
    assert [(a.name, a.shape, a.dtype) for a in facts.inputs] == [
        ("params['b'][0]", (4,), "float32"),
        ("params['w']", (8, 4), "bfloat16"),
        ("inputs[1]", (), "int32"),
    ]


def test_nothing_is_allocated(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, "x", "jnp.ones((2**20, 2**20))", "return x @ x")
    assert facts.inputs[0].bytes == 2**42
    assert facts.flops == 2 * 2**60
    assert facts.bound == "compute"


FAILING = {
    "create_inputs fails: ValueError: no such size (line 5)": (
        "def create_inputs():\n    raise ValueError('no such size\\nsecond line')\ndef workload(x): return x\n"
    ),
    "create_inputs fails: AttributeError: module 'ragctx_workload' has no attribute 'create_inputs'": (
        "def workload(x): return x\n"
    ),
    "workload fails: NameError: name 'missing' is not defined (line 6)": (
        "def create_inputs(): return (jnp.ones(3),)\ndef workload(x):\n    return missing(x)\n"
    ),
    "workload fails: SystemExit: 0 (line 6)": (
        "def create_inputs(): return (jnp.ones(3),)\ndef workload(x):\n    raise SystemExit(0)\n"
    ),
    "the tracing process ended with status 7: no message": (
        "import os\ndef create_inputs(): os._exit(7)\ndef workload(x): return x\n"
    ),
}


@pytest.mark.parametrize("problem", FAILING)
def test_a_failed_trace_falls_back_to_the_text(tmp_path: Path, problem: str) -> None:
    path = write(tmp_path, FAILING[problem])
    facts = facts_for(path)
    assert (facts.traced, facts.note) == (False, f"not traced: {problem}")
    assert facts.identifiers[0] in ("x", "os")
    with pytest.raises(TraceError) as caught:
        trace(path)
    assert str(caught.value) == f"{path}: {problem}; use --no-trace to read the text alone"


def test_a_trace_that_takes_too_long(tmp_path: Path) -> None:
    path = write(tmp_path, "import time\ndef create_inputs(): time.sleep(60)\ndef workload(x): return x\n")
    assert facts_for(path, timeout_s=1.5).note == "not traced: tracing took more than 1.5 s"


def test_check_sizes_that_fail_are_a_note(tmp_path: Path) -> None:
    text = (
        "CONFIG = {'n': 8}\nCHECK = {'n': 7}\ndef create_inputs(): return (jnp.ones(CONFIG['n']),)\n"
        "def workload(x): return x.reshape(4, -1)\n"
    )
    facts = facts_for(write(tmp_path, text))
    assert facts.traced
    assert facts.note.startswith("not traced at CHECK sizes: TypeError: ")
    assert [array.check_shape for array in facts.inputs] == [None]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "import nowhere_to_be_found\ndef workload(x): return x\n",
            ":4: importing it fails: ModuleNotFoundError: No module named 'nowhere_to_be_found'; "
            "fix it, or use --no-trace to read the text alone",
        ),
        (
            "def make(): return [1]\nCONFIG = make()\ndef workload(x): return x\n",
            ": importing it fails: TypeError: CONFIG is a list, not a dict; "
            "fix it, or use --no-trace to read the text alone",
        ),
        (
            "import sys\nsys.exit('bye')\ndef workload(x): return x\n",
            ":5: importing it fails: SystemExit: bye; fix it, or use --no-trace to read the text alone",
        ),
    ],
)
def test_a_failed_import_is_an_error(tmp_path: Path, text: str, problem: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(RagctxError) as caught:
        facts_for(path)
    assert str(caught.value) == f"{path}{problem}"
    assert not facts_for(path, trace=False).traced


def test_an_interpreter_without_jax(tmp_path: Path) -> None:
    path = write(tmp_path, "def workload(x): return x\n")
    fake = tmp_path / "python"
    # -S keeps site-packages out, so that this interpreter has the standard library alone.
    fake.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    fake.chmod(0o755)
    with pytest.raises(RagctxError) as caught:
        facts_for(path, python=os.fspath(fake))
    assert str(caught.value) == (
        f"{fake}: JAX cannot be imported: ModuleNotFoundError: No module named 'jax'; "
        "install jax there, or use --no-trace to read the text alone"
    )
    with pytest.raises(RagctxError, match="cannot start the interpreter"):
        facts_for(path, python=os.fspath(tmp_path / "none"))


def test_unknown_target(tmp_path: Path) -> None:
    with pytest.raises(RagctxError, match="unknown target 'v9'"):
        facts_for(write(tmp_path, "def workload(x): return x\n"), target="v9", trace=False)


def test_the_text_alone_needs_neither_jax_nor_numpy(tmp_path: Path) -> None:
    path = write(tmp_path, "CONFIG = {'n': 8}\nCHECK = {'n': 4}\ndef workload(x):\n    return jnp.einsum('ij->i', x)\n")
    code = (
        "import sys\nfrom ragctx.workload import facts_for\n"
        f"facts = facts_for({str(path)!r}, trace=False)\n"
        "print(facts.primitives, facts.note, len(facts.advice), sorted({'jax', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "{'dot_general': 1} not traced: read from the text alone 1 []\n"


def test_a_siblings_module_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "sizes_of_mine.py").write_text("N = 24\n")
    text = "from sizes_of_mine import N\ndef create_inputs(): return (jnp.ones(N),)\ndef workload(x): return x * 2\n"
    assert trace(write(tmp_path, text)).outputs[0].shape == (24,)
