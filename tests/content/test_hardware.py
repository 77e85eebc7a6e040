"""The hardware sheets and the table of targets, held against the installed JAX, the TPU compiler and each other."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ragctx import tokens
from ragctx.children import run_script
from ragctx.targets import GIB, MIB, TARGETS, Target

SHEETS = Path(__file__).resolve().parents[2] / "corpus" / "hardware"
PROBE = str(Path(__file__).resolve().parent / "probe_target.py")

CHIPS = {"v4": "v4", "v5e": "v5e", "v5p": "v5p", "v6e": "v6e", "tpu7x": "7x"}
# The worked budget of each sheet: blocks of a bfloat16 matmul.
MATMULS = {
    "v4": (512, 512, 1024),
    "v5e": (512, 512, 1024),
    "v5p": (512, 512, 1024),
    "v6e": (1024, 2048, 512),
    "tpu7x": (1024, 1024, 1024),
}
DOTS = {
    "v4": {"float32", "bfloat16"},
    "v5e": {"float32", "bfloat16", "int8", "int4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"},
    "v5p": {"float32", "bfloat16", "int8", "int4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"},
    "v6e": {"float32", "bfloat16", "int8", "int4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"},
    "tpu7x": {"float32", "bfloat16", "int8", "int4", "float8_e4m3fn", "float8_e5m2"},
}
SPARSE = {"v5p": (4, 16, 8, 512), "v6e": (2, 16, 8, 256), "tpu7x": (2, 16, 16, 512)}
PEAK_ROWS = (("bfloat16", "bfloat16"), ("int8", "int8"), ("int4", "int4"), ("fp8", "float8_e5m2"))


@cache
def probe(name: str) -> dict[str, Any]:
    target = TARGETS[name]
    request = {
        "topology": target.topology,
        "chip": CHIPS[name],
        "cores": target.device_cores,
        "scoped_mib": target.scoped_vmem_bytes // MIB,
        "matmuls": [MATMULS[name]],
    }
    result = run_script(PROBE, request)
    assert result.answer is not None, result.stderr
    answer: dict[str, Any] = result.answer
    return answer


def sheet(name: str) -> str:
    return (SHEETS / f"{name}.md").read_text(encoding="utf-8").split("---\n", 2)[2]


def ridge(target: Target, dtype: str) -> float:
    value = target.ridge(dtype)
    assert value is not None
    return value


def table_rows(target: Target) -> list[str]:
    """Return the rows that a sheet's table must consist of."""
    vmem, scoped = target.vmem_bytes // MIB, target.scoped_vmem_bytes // MIB
    program = {"v4": "a program on one core", "v5p": "a program on both cores"}.get(target.name, "a program")
    rows = [
        "| per core | |",
        "| --- | --- |",
        f"| matrix units | {target.mxu_count} of {target.mxu_size} x {target.mxu_size} |",
        f"| VMEM | {vmem} MiB, usable {target.usable_vmem_bytes / MIB:.2f}; default limit of a kernel {scoped} |",
        f"| SMEM | {target.smem_bytes // MIB} MiB |",
        f"| HBM | {target.hbm_bytes / 1e9:g} GB at {target.hbm_bytes_per_s / 1e12:g} TB/s; {program} gets "
        f"{target.device_hbm_bytes / GIB:g} GiB |",
    ]
    for label, dtype in PEAK_ROWS:
        if dtype in target.peak_ops_per_s:
            unit = "TOP/s" if label.startswith("int") else "TFLOP/s"
            suffix = " FLOP/byte" if label == "bfloat16" else ""
            peak = f"{target.peak_ops_per_s[dtype] / 1e12:g}"
            rows.append(f"| {label} | {peak} {unit}, ridge {ridge(target, dtype):.0f}{suffix} |")
    if target.name in SPARSE:
        cores, subcores, lanes, kib = SPARSE[target.name]
        rows.append(f"| SparseCore | {cores} cores x {subcores} subcores, {lanes} lanes, {kib} KiB each |")
    return rows


@pytest.mark.parametrize("name", TARGETS)
def test_the_table_of_a_sheet_is_the_target(name: str) -> None:
    rows = [line for line in sheet(name).splitlines() if line.startswith("|")]
    assert rows == table_rows(TARGETS[name])


@pytest.mark.parametrize("name", TARGETS)
def test_the_worked_budget_of_a_sheet_adds_up(name: str) -> None:
    bm, bn, bk = MATMULS[name]
    x, y, out, accumulator = (size / MIB for size in (2 * bm * bk, 2 * bk * bn, 2 * bm * bn, 4 * bm * bn))
    total = 2 * (x + y) + 2 * out + accumulator
    text = sheet(name)
    assert f"2 x ({x:g} + {y:g}) MiB for x and y, 2 x {out:g} for the output, {accumulator:g} for a" in text
    assert f"accumulator: {total:g} MiB" in text
    intensity = bm * bn / (bm + bn)
    assert f"reaches {intensity:.0f}" in text
    assert intensity > ridge(TARGETS[name], "bfloat16")
    assert total * MIB < TARGETS[name].scoped_vmem_bytes


@pytest.mark.parametrize(
    ("name", "before", "phrase", "ratio"),
    [
        ("v5e", "v4", "8 times the VMEM", lambda new, old: new.vmem_bytes / old.vmem_bytes),
        ("v5p", "v5e", "half the VMEM", lambda new, old: new.vmem_bytes / old.vmem_bytes),
        ("v5p", "v5e", "1.5 times the bandwidth", lambda new, old: new.hbm_bytes_per_s / old.hbm_bytes_per_s),
        ("v6e", "v5e", "2 times the bandwidth", lambda new, old: new.hbm_bytes_per_s / old.hbm_bytes_per_s),
        ("v6e", "v5e", "4.7 times the peak", lambda new, old: _peak(new) / _peak(old)),
        ("v6e", "v5e", "Twice the default limit", lambda new, old: new.scoped_vmem_bytes / old.scoped_vmem_bytes),
        ("tpu7x", "v6e", "2.3 times the bandwidth", lambda new, old: new.hbm_bytes_per_s / old.hbm_bytes_per_s),
        ("tpu7x", "v6e", "1.3 times the peak", lambda new, old: _peak(new) / _peak(old)),
        ("tpu7x", "v6e", "half the VMEM", lambda new, old: new.vmem_bytes / old.vmem_bytes),
        ("v6e", "v6e", "at most 46 % busy", lambda new, _: 100 * 256 / ridge(new, "bfloat16")),
    ],
)
def test_comparisons_are_computed(name: str, before: str, phrase: str, ratio: Any) -> None:
    number = {"half": 0.5, "Twice": 2.0}.get(phrase.split()[0])
    if number is None:
        number = float(re.search(r"[\d.]+", phrase).group())  # type: ignore[union-attr]
    assert phrase in sheet(name).replace(" on 2 times the", " and 2 times the")
    value = ratio(TARGETS[name], TARGETS[before])
    assert number == (round(value) if phrase.endswith("busy") else round(value, 1))


def _peak(target: Target) -> float:
    return target.peak_ops_per_s["bfloat16"]


@pytest.mark.parametrize("name", TARGETS)
def test_a_sheet_is_short_and_for_its_target(name: str) -> None:
    text = (SHEETS / f"{name}.md").read_text(encoding="utf-8")
    assert f"\ntargets: [{name}]\n" in text
    assert 250 <= tokens.count(sheet(name)) <= 450


@pytest.mark.tpu_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
class TestAgainstTheInstalledJax:
    def test_what_a_core_has(self, name: str) -> None:
        target, answer = TARGETS[name], probe(name)
        info = answer["info"]
        assert (answer["device_kind"], answer["device_cores"]) == (target.device_kind, target.device_cores)
        assert answer["chip_cores"] == target.chip_cores
        assert (info["mxu_column_size"], info["num_mxus"]) == (target.mxu_size, target.mxu_count)
        assert (info["num_lanes"], info["num_sublanes"]) == (128, 8)
        assert info["vmem_capacity_bytes"] == target.vmem_bytes
        assert info["smem_capacity_bytes"] == target.smem_bytes
        assert info["hbm_capacity_bytes"] == target.hbm_bytes
        assert info["mem_bw_bytes_per_second"] == target.hbm_bytes_per_s

    def test_peaks(self, name: str) -> None:
        peaks, info = TARGETS[name].peak_ops_per_s, probe(name)["info"]
        assert peaks["bfloat16"] == info["bf16_ops_per_second"]
        assert peaks.get("int8", 0) == info["int8_ops_per_second"]
        assert peaks.get("int4", 0) == info["int4_ops_per_second"]
        assert peaks.get("float8_e5m2", 0) == peaks.get("float8_e4m3fn", 0) == info["fp8_ops_per_second"]

    def test_block_rows_the_compiler_takes(self, name: str) -> None:
        target, rows = TARGETS[name], probe(name)["least_rows"]
        assert {rows["float32"]} == {target.sublane_tiling[4]}
        assert {rows["bfloat16"]} == {target.sublane_tiling[2]}
        one_byte = ("int8", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz")
        assert {rows[dtype] for dtype in one_byte} == {target.sublane_tiling[1]}
        assert rows["int4"] == 64
        says = {"float32": 8, "bfloat16": 16 if name == "tpu7x" else 8, "int8": 32, "int4": 64}
        assert probe(name)["sublane_tiling"] == says

    def test_limits_the_compiler_states(self, name: str) -> None:
        target, answer = TARGETS[name], probe(name)
        assert answer["scoped_mib"] == target.scoped_vmem_bytes / MIB
        assert answer["default_takes_less"] is True
        assert answer["usable_vmem_mib"] == round(target.usable_vmem_bytes / MIB, 2)
        assert answer["device_hbm_gib"] == target.device_hbm_bytes / GIB
        assert answer["active_cores"] == target.device_cores

    def test_matmuls_the_compiler_takes(self, name: str) -> None:
        assert set(probe(name)["dots"]) == DOTS[name]
        assert probe(name)["bfloat16_by_int8"] is True

    def test_the_worked_budget_is_what_the_compiler_counts(self, name: str) -> None:
        bm, bn, bk = MATMULS[name]
        blocks_bytes = 2 * 2 * (bm * bk + bk * bn + bm * bn) + 4 * bm * bn
        assert probe(name)["matmul_mib"] == [blocks_bytes / MIB]

    def test_sparse_core(self, name: str) -> None:
        says = probe(name)["sparse_core"]
        if name not in SPARSE:
            assert says is None and "SparseCore |" not in sheet(name)
        else:
            cores, subcores, lanes, kib = SPARSE[name]
            assert says == {"cores": cores, "subcores": subcores, "lanes": lanes, "vmem_bytes": kib * 1024}


@pytest.mark.tpu_compiler
@pytest.mark.slow
def test_v4_as_a_megacore() -> None:
    request = {"topology": TARGETS["v4"].topology, "options": {"chip_config_name": "megacore"}}
    result = run_script(PROBE, request)
    assert result.answer == {"device_kind": "TPU v4", "device_cores": 2, "active_cores": 2, "device_hbm_gib": 30.75}
    assert "a program gets 30.75 GiB" in sheet("v4")
