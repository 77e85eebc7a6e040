"""TPU targets: the numbers that sizing and facts are derived from.

Source: `pltpu.get_tpu_info_for_chip` of JAX 0.10.2 (per core) and libtpu 0.0.42.1's own messages for VMEM; a test
holds this table against the installed JAX where it can be asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragctx.errors import RagctxError

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """One TPU generation; figures are per TensorCore as JAX reports them.

    Attributes:
        name: ragctx's name of it.
        device_kind: What JAX calls the device.
        topology: A topology name that libtpu accepts for ahead-of-time compilation.
        mxu_size: Rows and columns of one matrix unit.
        mxu_count: Matrix units a core.
        vmem_bytes: Vector memory.
        scoped_vmem_bytes: The compiler's default limit for one kernel, or None where not established.
        smem_bytes: Scalar memory.
        hbm_bytes: High-bandwidth memory.
        hbm_bytes_per_s: Its bandwidth.
        peak_ops_per_s: Peak FLOP/s (or int OP/s) by dtype; a dtype the matrix unit lacks is absent.
        sublane_tiling: Rows of a native tile by bytes an element; the lane dimension is always 128.
    """

    name: str
    device_kind: str
    topology: str
    mxu_size: int
    mxu_count: int
    vmem_bytes: int
    scoped_vmem_bytes: int | None
    smem_bytes: int
    hbm_bytes: float
    hbm_bytes_per_s: float
    peak_ops_per_s: Mapping[str, float]
    sublane_tiling: Mapping[int, int]

    def ridge(self, dtype: str = "bfloat16") -> float | None:
        """Return the arithmetic intensity (FLOP/byte) above which `dtype` work is compute bound, or None."""
        peak = self.peak_ops_per_s.get(dtype)
        return None if peak is None else peak / self.hbm_bytes_per_s


_TILING = {4: 8, 2: 16, 1: 32}


def _target(
    name: str,
    device_kind: str,
    topology: str,
    mxu: tuple[int, int],
    vmem_mib: int,
    scoped_mib: int | None,
    hbm_gb: float,
    tb_per_s: float,
    tera_ops: Mapping[str, float],
) -> Target:
    return Target(
        name=name,
        device_kind=device_kind,
        topology=topology,
        mxu_size=mxu[0],
        mxu_count=mxu[1],
        vmem_bytes=vmem_mib * MIB,
        scoped_vmem_bytes=None if scoped_mib is None else scoped_mib * MIB,
        smem_bytes=MIB,
        hbm_bytes=hbm_gb * 1e9,
        hbm_bytes_per_s=tb_per_s * 1e12,
        peak_ops_per_s={dtype: tera * 1e12 for dtype, tera in tera_ops.items()},
        sublane_tiling=_TILING,
    )


TARGETS: Mapping[str, Target] = {
    t.name: t
    for t in (
        _target("v4", "TPU v4", "v4:2x2x1", (128, 4), 16, None, 17.2, 0.615, {"bfloat16": 137.5}),
        _target("v5e", "TPU v5 lite", "v5e:2x2", (128, 4), 128, 16, 17.2, 0.82, {"bfloat16": 197.0, "int8": 394.0}),
        _target("v5p", "TPU v5", "v5p:2x2x1", (128, 4), 64, 16, 51.5, 1.23, {"bfloat16": 229.5, "int8": 459.0}),
        _target(
            "v6e",
            "TPU v6 lite",
            "v6e:2x2",
            (256, 2),
            128,
            32,
            34.4,
            1.64,
            {"bfloat16": 920.0, "int8": 1840.0, "float8_e4m3fn": 920.0, "float8_e5m2": 920.0},
        ),
        _target(
            "tpu7x",
            "TPU7x",
            "tpu7x:2x2x1",
            (256, 2),
            64,
            32,
            103.0,
            3.7,
            {"bfloat16": 1155.0, "float8_e4m3fn": 2300.0, "float8_e5m2": 2300.0},
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
