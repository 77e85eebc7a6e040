"""Ask the installed JAX and the TPU compiler what a target has; a child process, run by path.

`python -I probe_target.py REQUEST.json ANSWER.json` with
`{"topology", "chip", "cores", "scoped_mib", "matmuls": [[bm, bn, bk]]}`, or `{"topology", "options"}` for
the limits of a device configured otherwise.
The answer holds what `get_tpu_info_for_chip` says and what the compiler's messages say: the fewest block rows a dtype
may have, the matmul dtypes it takes, the memory limits it prints, and the bytes it counts for matmul blocks.
"""

import json
import re
import sys

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental import topologies
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import AbstractDevice, AbstractMesh, SingleDeviceSharding

MIB = 1 << 20
DTYPES = ("float32", "bfloat16", "int8", "int4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz")
DOT_DTYPES = (*DTYPES, "float16")
INFO = (
    "mxu_column_size num_mxus num_lanes num_sublanes vmem_capacity_bytes smem_capacity_bytes hbm_capacity_bytes "
    "mem_bw_bytes_per_second bf16_ops_per_second int8_ops_per_second fp8_ops_per_second int4_ops_per_second"
).split()


class Compiler:
    def __init__(self, topology, options):
        self.device = topologies.get_topology_desc(topology_name=topology, platform="tpu", **options).devices[0]

    def error(self, function, *inputs):
        """Return the compiler's message, or an empty string where it takes the program."""
        sharding = SingleDeviceSharding(self.device)
        inputs = [jax.ShapeDtypeStruct(i.shape, i.dtype, sharding=sharding) for i in inputs]
        kind = AbstractDevice(self.device.device_kind, self.device.num_cores, "tpu")
        try:
            with jax.sharding.use_abstract_mesh(AbstractMesh((1,), ("_x",), abstract_device=kind)):
                lowered = jax.jit(function).trace(*inputs).lower(lowering_platforms=("tpu",))
            lowered.compile()
        except Exception as error:  # its text is what is asked for
            return str(error) or type(error).__name__
        return ""


def copy_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def least_rows(compiler, dtype):
    x = jax.ShapeDtypeStruct((512, 512), dtype)
    for rows in (8, 16, 32, 64):
        spec = pl.BlockSpec((rows, 256), lambda i, j: (i, j))
        call = pl.pallas_call(copy_kernel, grid=(512 // rows, 2), in_specs=[spec], out_specs=spec, out_shape=x)
        if not compiler.error(call, x):
            return rows
    return None


def takes_dot(compiler, left, right):
    accumulator = jnp.int32 if left.startswith("int") else jnp.float32

    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=accumulator)

    x, y = jax.ShapeDtypeStruct((256, 256), left), jax.ShapeDtypeStruct((256, 256), right)
    call = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((256, 256), accumulator))
    return not compiler.error(call, x, y)


def scratch_error(compiler, scratch_bytes, limit_bytes):
    """Compile a kernel that really uses a scratch buffer of this size."""
    rows = scratch_bytes // 4096

    def kernel(x_ref, o_ref, scratch_ref):
        scratch_ref[...] = jnp.broadcast_to(x_ref[0:1, :], scratch_ref.shape)

        def step(i, carry):
            tile = pl.ds(i * 8, 8)
            scratch_ref[tile, :] = scratch_ref[tile, :] * 2 + pl.program_id(0)
            return carry

        lax.fori_loop(0, rows // 8, step, 0)
        o_ref[...] = scratch_ref[pl.ds(rows - 8, 8), :] + scratch_ref[0:8, :]

    x = jax.ShapeDtypeStruct((16, 1024), jnp.float32)
    spec = pl.BlockSpec((8, 1024), lambda i: (i, 0))
    call = pl.pallas_call(
        kernel,
        grid=(2,),
        in_specs=[spec],
        out_specs=spec,
        out_shape=x,
        scratch_shapes=[pltpu.VMEM((rows, 1024), jnp.float32)],
        compiler_params=pltpu.CompilerParams(vmem_limit_bytes=limit_bytes),
    )
    return compiler.error(call, x)


def active_cores(compiler):
    """Return how many steps a core-parallel grid axis may have, by the message for too many."""
    x = jax.ShapeDtypeStruct((512, 128), jnp.float32)
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    params = pltpu.CompilerParams(dimension_semantics=("core_parallel",))
    call = pl.pallas_call(copy_kernel, grid=(64,), in_specs=[spec], out_specs=spec, out_shape=x, compiler_params=params)
    return figure(r"greater than the number of active cores: (\d+)", compiler.error(call, x))


def hbm_error(compiler):
    x = jax.ShapeDtypeStruct((1 << 18, 1 << 17), jnp.bfloat16)
    return compiler.error(lambda x: jnp.sin(x) @ jnp.cos(x).T, x)


def matmul_mib(compiler, bm, bn, bk):
    """Return the MiB that the compiler counts for a pipelined matmul's blocks and scratch."""

    def kernel(x_ref, y_ref, o_ref, acc_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = acc_ref[...].astype(o_ref.dtype)

    size = 4096
    blocks_bytes = 2 * 2 * (bm * bk + bk * bn + bm * bn) + 4 * bm * bn
    x = jax.ShapeDtypeStruct((size, size), jnp.bfloat16)
    call = pl.pallas_call(
        kernel,
        grid=(size // bm, size // bn, size // bk),
        in_specs=[pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)), pl.BlockSpec((bk, bn), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)),
        out_shape=x,
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
        # Just too little for the blocks alone, so that the message counts them and nothing else.
        compiler_params=pltpu.CompilerParams(vmem_limit_bytes=blocks_bytes - MIB // 4),
    )
    found = re.search(r"Scoped allocation with size ([\d.]+)M", compiler.error(call, x, x))
    return found and float(found.group(1))


def figure(pattern, message):
    found = re.search(pattern, message)
    return float(found.group(1)) if found else None


def main(request_path, answer_path):
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    compiler = Compiler(request["topology"], request.get("options", {}))
    answer = device_limits(compiler) | (core_limits(compiler, request) if "chip" in request else {})
    with open(answer_path, "w", encoding="utf-8") as file:
        json.dump(answer, file)


def device_limits(compiler):
    return {
        "device_kind": compiler.device.device_kind,
        "device_cores": compiler.device.num_cores,
        "active_cores": active_cores(compiler),
        "device_hbm_gib": figure(r"exceeds available HBM \(([\d.]+)G\)", hbm_error(compiler)),
    }


def core_limits(compiler, request):
    version = next(v for v in pltpu.ChipVersion if v.value == request["chip"])
    info = pltpu.get_tpu_info_for_chip(version, request["cores"])
    sparse = info.sparse_core
    # A kernel a little over the default limit; on v4 that is all of VMEM, and the message is VMEM's.
    over_default = scratch_error(compiler, request["scoped_mib"] * MIB, None)
    over_vmem = scratch_error(compiler, info.vmem_capacity_bytes, 2 * info.vmem_capacity_bytes)
    return {
        "info": {name: getattr(info, name) for name in INFO},
        "chip_cores": version.num_physical_tensor_cores_per_chip,
        "sublane_tiling": {d: info.get_sublane_tiling(jnp.dtype(d)) for d in ("float32", "bfloat16", "int8", "int4")},
        "sparse_core": sparse
        and {
            "cores": sparse.num_cores,
            "subcores": sparse.num_subcores,
            "lanes": sparse.num_lanes,
            "vmem_bytes": sparse.vmem_capacity_bytes,
        },
        "least_rows": {d: least_rows(compiler, d) for d in DTYPES},
        "dots": [d for d in DOT_DTYPES if takes_dot(compiler, d, d)],
        "bfloat16_by_int8": takes_dot(compiler, "bfloat16", "int8"),
        "scoped_mib": figure(r"and limit ([\d.]+)M", over_default) or figure(r"of ([\d.]+)M vmem", over_default),
        "default_takes_less": scratch_error(compiler, request["scoped_mib"] * MIB - MIB // 2, None) == "",
        "usable_vmem_mib": figure(r"of ([\d.]+)M vmem", over_vmem),
        "matmul_mib": [matmul_mib(compiler, *blocks) for blocks in request["matmuls"]],
    }


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
