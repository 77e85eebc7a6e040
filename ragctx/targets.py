"""TPU targets: the numbers that sizing and facts are derived from.

Source: `pltpu.get_tpu_info_for_chip` of JAX 0.10.2 for what a core has, and the messages of the compiler in libtpu
0.0.42.1, compiling ahead of time for `topology`, for what a kernel or program may use of it.
tests/content/test_hardware.py holds this table against both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragctx.errors import RagctxError

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True)
class Target:
    """One TPU generation; figures are per TensorCore as JAX reports them, unless they say device.

    Attributes:
        name: ragctx's name of it.
        device_kind: What JAX calls the device.
        topology: A topology name that libtpu accepts for ahead-of-time compilation.
        device_cores: TensorCores that a device of `topology` has; two of them make a megacore.
        chip_cores: TensorCores on one chip.
        mxu_size: Rows and columns of one matrix unit.
        mxu_count: Matrix units a core.
        vmem_bytes: Vector memory.
        usable_vmem_bytes: What the compiler gives one kernel of it at most.
        scoped_vmem_bytes: The compiler's default limit for one kernel.
        smem_bytes: Scalar memory.
        hbm_bytes: High-bandwidth memory.
        device_hbm_bytes: What the compiler gives one program on a device of `topology` at most, in whole hundredths
            of a GiB.
        hbm_bytes_per_s: Bandwidth of high-bandwidth memory.
        peak_ops_per_s: Peak FLOP/s (or int OP/s) by dtype of both operands; absent where JAX states none.
        sublane_tiling: Rows of a tile in HBM by bytes an element, which are the fewest rows a block of a larger array
            may have; the lane dimension is always 128. Four-bit types need 64 rows.
        register_rows: Rows that fill one vector register by bytes an element; a block that is no multiple of it
            compiles, but computes on partly empty registers.
    """

    name: str
    device_kind: str
    topology: str
    device_cores: int
    chip_cores: int
    mxu_size: int
    mxu_count: int
    vmem_bytes: int
    usable_vmem_bytes: int
    scoped_vmem_bytes: int
    smem_bytes: int
    hbm_bytes: float
    device_hbm_bytes: float
    hbm_bytes_per_s: float
    peak_ops_per_s: Mapping[str, float]
    sublane_tiling: Mapping[int, int]
    register_rows: Mapping[int, int]

    def ridge(self, dtype: str = "bfloat16") -> float | None:
        """Return the arithmetic intensity (FLOP/byte) above which `dtype` work is compute bound, or None."""
        peak = self.peak_ops_per_s.get(dtype)
        return None if peak is None else peak / self.hbm_bytes_per_s


LANES = 128
_HBM_TILE_ROWS = {4: 8, 2: 8, 1: 32}
_REGISTER_ROWS = {4: 8, 2: 16, 1: 32}


def _target(
    name: str,
    device_kind: str,
    topology: str,
    *,
    cores: tuple[int, int],
    mxu: tuple[int, int],
    vmem_mib: int,
    withheld_vmem_kib: int,
    scoped_mib: int,
    hbm_gb: float,
    device_hbm_gib: float,
    tb_per_s: float,
    tera_ops: Mapping[str, float],
) -> Target:
    return Target(
        name=name,
        device_kind=device_kind,
        topology=topology,
        device_cores=cores[0],
        chip_cores=cores[1],
        mxu_size=mxu[0],
        mxu_count=mxu[1],
        vmem_bytes=vmem_mib * MIB,
        usable_vmem_bytes=vmem_mib * MIB - withheld_vmem_kib * KIB,
        scoped_vmem_bytes=scoped_mib * MIB,
        smem_bytes=MIB,
        hbm_bytes=hbm_gb * 1e9,
        device_hbm_bytes=device_hbm_gib * GIB,
        hbm_bytes_per_s=tb_per_s * 1e12,
        peak_ops_per_s={dtype: tera * 1e12 for dtype, tera in tera_ops.items()},
        sublane_tiling=_HBM_TILE_ROWS,
        register_rows=_REGISTER_ROWS,
    )


TARGETS: Mapping[str, Target] = {
    t.name: t
    for t in (
        _target(
            "v4",
            "TPU v4",
            "v4:2x2x1",
            cores=(1, 2),
            mxu=(128, 4),
            vmem_mib=16,
            withheld_vmem_kib=0,
            scoped_mib=16,
            hbm_gb=17.2,
            device_hbm_gib=15.25,
            tb_per_s=0.615,
            tera_ops={"bfloat16": 137.5},
        ),
        _target(
            "v5e",
            "TPU v5 lite",
            "v5e:2x2",
            cores=(1, 1),
            mxu=(128, 4),
            vmem_mib=128,
            withheld_vmem_kib=0,
            scoped_mib=16,
            hbm_gb=17.2,
            device_hbm_gib=15.75,
            tb_per_s=0.82,
            tera_ops={"bfloat16": 197.0, "int8": 394.0, "int4": 788.0},
        ),
        _target(
            "v5p",
            "TPU v5",
            "v5p:2x2x1",
            cores=(2, 2),
            mxu=(128, 4),
            vmem_mib=64,
            withheld_vmem_kib=64,
            scoped_mib=16,
            hbm_gb=51.5,
            device_hbm_gib=95.74,
            tb_per_s=1.23,
            tera_ops={"bfloat16": 229.5, "int8": 459.0, "int4": 920.0},
        ),
        _target(
            "v6e",
            "TPU v6 lite",
            "v6e:2x2",
            cores=(1, 1),
            mxu=(256, 2),
            vmem_mib=128,
            withheld_vmem_kib=64,
            scoped_mib=32,
            hbm_gb=34.4,
            device_hbm_gib=31.25,
            tb_per_s=1.64,
            tera_ops={
                "bfloat16": 920.0,
                "int8": 1840.0,
                "int4": 3680.0,
                "float8_e4m3fn": 920.0,
                "float8_e5m2": 920.0,
            },
        ),
        _target(
            "tpu7x",
            "TPU7x",
            "tpu7x:2x2x1",
            cores=(1, 2),
            mxu=(256, 2),
            vmem_mib=64,
            withheld_vmem_kib=0,
            scoped_mib=32,
            hbm_gb=103.0,
            device_hbm_gib=94.75,
            tb_per_s=3.7,
            tera_ops={"bfloat16": 1155.0, "float8_e4m3fn": 2300.0, "float8_e5m2": 2300.0},
        ),
    )
}

DEFAULT_TARGET = "v6e"


def get(name: str) -> Target:
    """Return a target by name.

    Raises:
        RagctxError: If there is no such target; the message lists those there are.
    """
    try:
        return TARGETS[name]
    except KeyError:
        raise RagctxError(f"unknown target '{name}'", remedy=f"use one of: {', '.join(TARGETS)}") from None
