"""The latency estimate: the walk of a schedule, what makes it refuse a number, and its answers end to end."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ragctx import targets
from ragctx.children import SCRIPTS, TPU_LESS_ENVIRONMENT
from ragctx.errors import RagctxError
from ragctx.verify import latency
from ragctx.verify.verdict import Latency

sys.path.insert(0, str(SCRIPTS))

import latency_bundles as bundles  # noqa: E402
import latency_estimate as child  # noqa: E402
import latency_measure as profiler  # noqa: E402
import latency_program as program  # noqa: E402
from latency_walk import Machine, Walk, Walker  # noqa: E402

# A bundle a nanosecond and a byte a nanosecond: cycles can be added up by hand.
SLOW = Machine(clock_hz=1e9, hbm_bytes_per_s=1e9)


def walk(text: str, machine: Machine = SLOW, **scalars: list[int]) -> Walk:
    known = {int(name[1:]): values for name, values in scalars.items()}
    return Walker(bundles.read(text), known).walk(machine)


def schedule(*lines: str) -> str:
    """Number bundles as libtpu prints them; a line is `{ ... }` with what stands before and behind it."""
    numbered = []
    for number, line in enumerate(lines):
        label, _, rest = line.partition(":") if line.startswith("LB:") else ("  ", "", line)
        numbered.append(f" {number:#x}" if number else "     0")
        numbered[-1] += f" {label.strip():2}: {rest.strip()}"
    return "= control target key start\n\n" + "\n".join(numbered) + "\n"


LOOP = (
    "{ %s1_s0 = smov 0 /* copy for cssa */ }",
    "LB: > { %s2_s0 = sphi %s1_s0, %s4_s0 /* phi copy */ ;;  %v9_v0 = vadd.f32 %v8_v0, %v8_v0 } /* Start region 7 */",
    "> { %s3_s1 = sadd.s32 1, %s2_s0 }",
    "> { %p5_p0 = scmp.ge.s32.totalorder %s3_s1, 6 /* loop exit test */ ;;  %s4_s0 = smov %s3_s1 }",
    "{ %6 = sbr.rel (!%p5_p0) target = $region7 }",
    "{}",
    "{}",
    "{}",
    "{} /* End region 7 */",
    "{ %7 = vsyncpa [#allocation1], 1 } /* exit bundle: %fusion = fusion() */",
)


def test_bundles_of_a_loop_count_once_a_trip():
    found = walk(schedule(*LOOP))
    assert (found.bundles, found.cycles, found.stalled) == (1 + 6 * 8 + 1, 50, 0)


def test_the_older_print_of_a_branch_is_read_too():
    older = schedule(*LOOP).replace("target = $region7", "target bundleno = 99 (0x63), region = 7")
    assert walk(older).bundles == 50


def skipping(condition: str) -> str:
    return schedule(
        f"{{ %s1_s0 = smov 5  ;;  {condition} }}",
        "{ %2 = sbr.rel (%p9_p0) target = $region3 }",
        "{}",
        "{}",
        "{}",
        "{} /* End region 1 */",
        "{ %v1_v0 = vmov 0.0 } /* Start region 2 */",
        "{ %v2_v0 = vmov 0.0 } /* End region 2 */",
        "{ %3 = vsyncpa [#allocation1], 1 } /* Start/End empty region 3 */",
    )


@pytest.mark.parametrize(
    ("condition", "issued"),
    [
        ("%p9_p0 = scmp.lt.s32.totalorder 4294967295, 0", 7),  # -1 < 0
        ("%p9_p0 = scmp.lt.u32.totalorder 4294967295, 0", 9),  # 2^32 - 1 is not below 0
        ("%p9_p0 = scmp.eq.s32.totalorder 3, 3", 7),
        ("%p9_p0 = scmp.ne.s32.totalorder 3, 3", 9),
    ],
)
def test_a_branch_goes_where_its_condition_says(condition: str, issued: int):
    assert walk(skipping(condition)).bundles == issued


def test_what_is_read_in_a_bundle_is_what_was_there_before_it():
    text = schedule(
        "{ %s1_s0 = smov 5 }",
        "{ %s2_s0 = sphi %s1_s0, %s3_s0 }",
        # s3 takes the place of s2 while p4 looks at it.
        "{ %s3_s0 = smov 9  ;;  %p4_p0 = scmp.eq.s32.totalorder %s2_s0, 5 }",
        "{ %5 = sbr.rel (%p4_p0) target = $region3 }",
        *["{}"] * 4,
        "{ %6 = vmov 0.0 }",
        "{ %7 = vsyncpa [#allocation1], 1 } /* Start/End empty region 3 */",
    )
    assert walk(text).bundles == 9


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("%s9_s2 = smov (%p1_p0, %s2_s1), 3", 3),
        ("%s9_s2 = smov (!%p1_p0, %s2_s1), 3", 8),
        ("%s9_s2 = sand.u32 6, %s2_s1", 0),
        ("%s9_s2 = sor.u32 6, %s2_s1", 14),
        ("%s9_s2 = sshll.u32 %s2_s1, 28", -(1 << 31)),
        ("%s9_s2 = sshrl.u32 4294967295, 28", 15),
        ("%s9_s2 = sadd.s32 4294967290, %s2_s1", 2),
        ("%s9_s2 = scalar_select /*predicate=*/%p1_p0, /*on_true=*/7, /*on_false=*/%s2_s1", 7),
    ],
)
def test_scalar_arithmetic(line: str, value: int):
    text = schedule(
        "{ %p1_p0 = scmp.eq.s32.totalorder 1, 1  ;;  %s2_s1 = smov 8 }",
        f"{{ {line} }}",
        f"{{ %p3_p1 = scmp.eq.s32.totalorder %s9_s2, {value} }}",
        "{ %5 = sbr.rel (%p3_p1) target = $region3 }",
        *["{}"] * 4,
        "{ %6 = vmov 0.0 }",
        "{ %7 = vsyncpa [#allocation1], 1 } /* Start/End empty region 3 */",
    )
    assert walk(text).bundles == 9


HBM = "%s1_s0 = inlined_call_operand.hbm [shape: f32[8,128], index: 0, kind: input, shape index: {}]"
COPY_IN = (
    "dma.hbm_to_vmem [thread:$0] {when}/*hbm=*/%s1_s0, /*size_in_granules=*/128, /*vmem=*/[#allocation2], "
    "/*dst_syncflagno=*/[#allocation3], /*src_stride=*/1, /*dst_stride=*/1, /*steps_per_stride=*/1 /* \n"
    "base_bounds: (1, 1) */"
)


def copying(*between: str) -> str:
    return schedule(
        f"{{ %2 = vsyncpa [#allocation3], 0  ;;  {HBM} }}",
        f"{{ %3 = {COPY_IN.format(when='')} }}",
        *between,
        "{ %4 = dma.done.wait [#allocation3], 128 }",
        "{ %5 = vsyncadd [#allocation3], 4294967168 }",
    )


def test_a_wait_lasts_until_its_dma_is_done():
    found = walk(copying())
    # Issued in cycle 1, 4096 bytes at one a cycle: done at 4097; the wait's bundle is cycle 2.
    assert (found.hbm_bytes, found.dmas) == (4096, 1)
    assert found.stalled == pytest.approx(4097 - 2)
    assert found.cycles == pytest.approx(4 + 4095)


def test_work_hides_a_dma():
    assert walk(copying(*["{ %v1_v0 = vmov 0.0 }"] * 5000)).stalled == 0


def test_efficiency_cost_and_latency_of_a_dma():
    slow = Machine(1e9, 1e9, hbm_efficiency=0.5, dma_s=100e-9, latency_s=10e-9)
    assert walk(copying(), slow).stalled == pytest.approx(2 * 4096 + 100 + 10 + 1 - 2)


def test_a_dma_that_its_predicate_forbids_is_not_issued():
    never = "%p9_p0 = scmp.eq.s32.totalorder 1, 2"
    text = schedule(f"{{ {HBM}  ;;  {never} }}", f"{{ %3 = {COPY_IN.format(when='(%p9_p0), ')} }}")
    assert walk(text).hbm_bytes == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (schedule("{ %s1_s0 = spop %v1_v0 }", *LOOP[1:]).replace("%s3_s1, 6", "%s1_s0, 6"), "depends on data"),
        (copying().replace("/*size_in_granules=*/128", "/*size_in_granules=*/%s8_s8"), "depends on data"),
        (copying().replace("dma.done.wait [#allocation3], 128", "dma.done.wait [#allocation3], 129"), "no DMA"),
        (copying().replace("dma.hbm_to_vmem", "dma.hbm_to_ici"), "not followed"),
        (schedule("{ %1 = vwait.ge [#allocation1], 1 }"), "not followed"),
        (schedule(*LOOP).replace("$region7", "$region8"), "unknown place"),
        (schedule(*LOOP).replace("sbr.rel", "sbr.ind"), "unknown place"),
        ("nothing of the kind", "no bundles"),
    ],
)
def test_what_the_walk_cannot_follow_it_refuses(text: str, reason: str):
    with pytest.raises(bundles.Unsupported, match=reason):
        walk(text)


def test_a_walk_without_end_is_given_up():
    endless = schedule(*LOOP).replace("%s4_s0 = smov %s3_s1", "%s4_s0 = smov 0").replace("%s3_s1, 6", "%s3_s1, 9")
    with pytest.raises(bundles.Unsupported, match="more than 1,000 scalar instructions"):
        Walker(bundles.read(endless)).walk(SLOW, most_steps=1000)


LENGTHS = schedule(
    "{ %s1_s0 = inlined_call_operand.hbm [shape: s32[3], index: 0, kind: input, shape index: {}] }",
    "{ %2 = dma.hbm_to_smem /*hbm=*/%s1_s0, /*size_in_granules=*/16, /*smem=*/[#allocation7], "
    "/*dst_syncflagno=*/[#allocation6] }",
    "{ %3 = dma.done.wait [#allocation6], 16 }",
    "{ %s3_s1 = sld [smem:[#allocation7 + $0x2]] }",
    "{ %p9_p0 = scmp.gt.s32.totalorder %s3_s1, 10 }",
    "{ %4 = sbr.rel (%p9_p0) target = $region3 }",
    *["{}"] * 4,
    "{ %6 = vmov 0.0 }",
    "{ %7 = vsyncpa [#allocation1], 1 } /* Start/End empty region 3 */",
)


def test_prefetched_scalars_decide_when_their_values_are_known():
    assert walk(LENGTHS, _0=[1, 2, 30]).bundles == 11
    assert walk(LENGTHS, _0=[1, 2, 3]).bundles == 12
    with pytest.raises(bundles.Unsupported, match="depends on data"):
        walk(LENGTHS)


@pytest.mark.parametrize(
    ("shape", "values", "first"),
    [
        ("s32[3]{0:T(128)}", [5, -6, 7], [5, -6, 7, 0]),
        ("s32[]{:T(128)S(6)}", [9], [9]),
        ("s32[2,3]{1,0:T(8,128)}", [1, 2, 3, 4, 5, 6], [1, 2, 3, 0]),
        ("s8[1,2,2]{2,1,0:T(4,128)(4,1)S(1)}", [1, 0, 2, -1], [0x0201, 0xFF00, 0, 0]),
    ],
)
def test_words_lie_in_memory_as_the_layout_says(shape: str, values: list[int], first: list[int]):
    found = program.words(values, shape)
    assert found is not None and found[: len(first)] == first


def test_words_of_a_tiled_array_follow_its_tiles():
    found = program.words(list(range(9 * 130)), "s32[9,130]{1,0:T(8,128)}")
    assert found is not None and len(found) == 4 * 8 * 128
    assert (found[0], found[128], found[8 * 128], found[2 * 8 * 128]) == (0, 130, 128, 8 * 130)


@pytest.mark.parametrize("shape", ["s32[2,3]{0,1:T(8,128)}", "s32[4]{0:T(128)}", "tuple"])
def test_words_in_no_known_order_are_unknown(shape: str):
    assert program.words([1, 2, 3, 4, 5, 6], shape) is None


def dumped(folder: Path, **texts: str) -> dict[str, Path]:
    for number, (name, text) in enumerate(texts.items()):
        (folder / f"{number}-{name.replace('_', '.')}-01-final_bundles.txt").write_text(text)
        (folder / f"{number}-{name.replace('_', '.')}-00-schedule-analysis_final_bundles.txt").write_text("totals")
    return program.schedules(folder)


def entry(*lines: str, before: str = "") -> str:
    return (
        f"HloModule jit_f\n\n{before}ENTRY %main (x: f32[8,128]) -> f32[8,128] {{\n"
        + "\n".join(f"  {line}" for line in ("%x = f32[8,128]{1,0} parameter(0)", *lines))
        + "\n}\n"
    )


TEN = schedule(*["{ %v1_v0 = vmov 0.0 }"] * 10)
BODY = (
    "%body (b: (s32[], f32[8,128])) -> (s32[], f32[8,128]) {\n"
    "  %b = (s32[], f32[8,128]{1,0}) parameter(0)\n"
    "  ROOT %fusion.1 = f32[8,128]{1,0} fusion(%b), kind=kLoop, calls=%f\n}\n\n"
    "%cond (c: (s32[], f32[8,128])) -> pred[] {\n"
    "  %c = (s32[], f32[8,128]{1,0}) parameter(0)\n"
    "  ROOT %less = pred[] compare(%c, %c), direction=LT\n}\n\n"
)
WHILE = "ROOT %loop = (s32[], f32[8,128]{1,0}) while(%x), condition=%cond, body=%body"


def test_operations_of_a_program_add_up(tmp_path: Path):
    files = dumped(tmp_path, fusion_1=TEN, fusion_2=copying())
    text = entry(
        "%fusion.1 = f32[8,128]{1,0} fusion(%x), kind=kLoop, calls=%f",
        "ROOT %fusion.2 = f32[8,128]{1,0} fusion(%fusion.1), kind=kLoop, calls=%g",
    )
    timing = program.time_program(text, files, SLOW)
    assert timing.cycles == pytest.approx(10 + 4099)
    assert [(name, times) for name, times, _ in timing.operations] == [("fusion.1", 1), ("fusion.2", 1)]


def test_a_loop_runs_its_body_the_known_number_of_times(tmp_path: Path):
    known = WHILE + ', backend_config={"known_trip_count":{"n":"7"}}'
    timing = program.time_program(entry(known, before=BODY), dumped(tmp_path, fusion_1=TEN), SLOW)
    assert (timing.cycles, timing.operations[0][1]) == (70, 7)


def test_a_copy_beside_other_work_takes_only_what_is_left_of_it(tmp_path: Path):
    start = "%copy-start = (f32[8,128]{1,0:T(8,128)S(1)}, f32[8,128]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(%x)"
    work = "%fusion.1 = f32[8,128]{1,0} fusion(%x), kind=kLoop, calls=%f"
    done = "ROOT %copy-done = f32[8,128]{1,0:T(8,128)S(1)} copy-done(%copy-start)"
    timing = program.time_program(entry(start, work, done), dumped(tmp_path, fusion_1=TEN), SLOW)
    assert (timing.cycles, timing.copied_bytes) == (pytest.approx(4096), 4096)


def test_an_equal_operation_shares_a_schedule(tmp_path: Path):
    lines = (
        '%broadcast.1 = f32[8,128]{1,0} broadcast(%x), dimensions={0,1}, metadata={op_name="a"}',
        'ROOT %broadcast.2 = f32[8,128]{1,0} broadcast(%x), dimensions={0,1}, metadata={op_name="b"}',
    )
    assert program.time_program(entry(*lines), dumped(tmp_path, broadcast_1=TEN), SLOW).cycles == 20


def test_the_map_of_equivalent_operations_is_read(tmp_path: Path):
    dumped(tmp_path, fusion_1=TEN)
    (tmp_path / "9-TLP-00-deduplication-map.txt").write_text(
        "key:fusion.1\nordinal:1\nequivalent_hlos[size=1]:\n  f.9\n"
    )
    assert program.schedules(tmp_path)["f.9"] == program.schedules(tmp_path)["fusion.1"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (entry(WHILE, before=BODY), "trip count depends on data"),
        (entry("ROOT %r = f32[8,128]{1,0} all-reduce(%x), replica_groups={}, to_apply=%add"), "collective"),
        (entry("ROOT %s = f32[8,128]{1,0} sort(%x), dimensions={0}"), "no final schedule of s "),
        (entry("ROOT %y = f32[8,128]{1,0} bitcast(%x)"), "no final schedule of any"),
        ("HloModule nothing", "no entry"),
    ],
)
def test_programs_that_cannot_be_timed(tmp_path: Path, text: str, reason: str):
    with pytest.raises(bundles.Unsupported, match=reason):
        program.time_program(text, dumped(tmp_path, fusion_1=TEN), SLOW)


def compiled(text: str = entry("ROOT %fusion.1 = f32[8,128]{1,0} fusion(%x), calls=%f"), **cost: float) -> Any:
    return SimpleNamespace(as_text=lambda: text, cost_analysis=lambda: cost)


MACHINE = {"clock_hz": 1e9, "hbm_bytes_per_s": 1e9}


def test_the_schedule_gives_a_number_and_what_it_is_made_of(tmp_path: Path):
    dumped(tmp_path, fusion_1=TEN)
    found = child.estimate(compiled(), tmp_path, MACHINE)
    assert found["ms"] == pytest.approx(1e-5)
    assert (found["detail"]["bundles"], found["detail"]["slowest"][0]["name"]) == (10, "fusion.1")


def test_no_schedule_dump_no_number(tmp_path: Path):
    assert child.estimate(compiled(), tmp_path, MACHINE)["ms"] is None
    dumped(tmp_path, fusion_1=TEN)
    before = frozenset(path.name for path in tmp_path.iterdir())
    found = child.estimate(compiled(), tmp_path, MACHINE, since=before)
    assert found == {"ms": None, "detail": {"reason": "the compiler wrote no schedule"}}


def test_no_clock_no_number(tmp_path: Path):
    dumped(tmp_path, fusion_1=TEN)
    assert child.estimate(compiled(), tmp_path, None)["detail"]["reason"].startswith("the clock rate")


def test_several_chips_no_number(tmp_path: Path):
    dumped(tmp_path, fusion_1=TEN)
    assert child.estimate(compiled(), tmp_path, MACHINE, devices=4)["ms"] is None
    assert child.cost_analysis(compiled(optimal_seconds=1.0), devices=4)["ms"] is None


def test_a_schedule_in_another_form_gives_a_reason_not_a_traceback(tmp_path: Path):
    dumped(tmp_path, fusion_1=schedule("{ %3 = dma.hbm_to_vmem }"))
    found = child.estimate(compiled(), tmp_path, MACHINE)
    assert found["ms"] is None and found["detail"]["reason"].startswith("the schedule could not be read (KeyError")


@pytest.mark.parametrize(
    ("cost", "ms"), [({"optimal_seconds": 0.002}, 2.0), ({"optimal_seconds": -1.0}, None), ({"flops": 8.0}, None)]
)
def test_cost_analysis_is_believed_only_where_it_says_a_time(cost: dict[str, float], ms: float | None):
    assert child.cost_analysis(compiled(**cost))["ms"] == ms


def test_cost_analysis_says_nothing_of_mosaic_kernels():
    text = entry('ROOT %k = f32[8,128]{1,0} custom-call(%x), custom_call_target="tpu_custom_call"')
    assert child.cost_analysis(compiled(text, optimal_seconds=1.0))["ms"] is None


def test_memory_need_counts_aliased_bytes_once():
    sizes = {"argument": 10, "output": 20, "temp": 30, "generated_code": 1, "alias": 5}
    memory = SimpleNamespace(**{f"{name}_size_in_bytes": size for name, size in sizes.items()})
    assert child.memory_need(SimpleNamespace(memory_analysis=lambda: memory))["need_bytes"] == 56


@pytest.mark.parametrize(("gib", "end"), [(20.0, ""), (26.0, "little room for anything else"), (32.0, "it cannot run")])
def test_memory_note(gib: float, end: str):
    note = latency.memory_note(int(gib * latency.GIB), "v6e")
    assert note.endswith(end) and bool(note) == bool(end)


ANSWER = {
    "stage": "done",
    "schedule": {"ms": None, "detail": {"reason": "no final schedule of sort (sort)"}},
    "cost_analysis": {"ms": 2.0, "detail": {"flops": 8}},
    "pallas": False,
    "memory": {"need_bytes": 33 * latency.GIB},
    "versions": {"jax": "1"},
    "error": None,
}


def test_the_schedule_comes_first_and_cost_analysis_second():
    found = latency.from_answer(ANSWER, target="v6e")
    assert found.latency == Latency(2.0, "cost_analysis", detail={"flops": 8})
    assert found.note.endswith("it cannot run")
    both = ANSWER | {"schedule": {"ms": 3.0, "detail": {}}}
    assert latency.from_answer(both, target="v6e").latency == Latency(3.0, "schedule")


def test_cost_analysis_does_not_stand_in_where_the_time_depends_on_data():
    reason = {"reason": "gather: depends on data: dma.hbm_to_vmem"}
    found = latency.from_answer(ANSWER | {"schedule": {"ms": None, "detail": reason}}, target="v6e")
    assert found.latency == Latency(None, "schedule", detail=reason)
    assert found.cost_analysis.ms == 2.0


def test_a_process_that_dies_in_cost_analysis_loses_only_that():
    unreached = {"ms": None, "detail": {"reason": "not reached"}}
    answer = ANSWER | {"stage": "cost_analysis", "schedule": {"ms": 3.0, "detail": {}}, "cost_analysis": unreached}
    found = latency.from_answer(answer, target="v6e", ended="the process ended with status -6")
    assert found.latency.ms == 3.0
    assert found.cost_analysis.detail == {"reason": "the process ended with status -6"}


def test_no_answer_no_number():
    found = latency.from_answer(None, target="v6e", ended="not done within 5 s")
    assert found.latency == Latency(None, "schedule", detail={"reason": "not done within 5 s"})


@pytest.mark.parametrize("target", [name for name in targets.TARGETS if name != "v6e"])
def test_targets_whose_clock_is_not_known_have_no_machine(target: str):
    assert latency.machine_for(target) is None


def test_a_missing_file_is_said():
    with pytest.raises(RagctxError, match="no such program file"):
        latency.estimate(Path("nowhere.py"))
    with pytest.raises(RagctxError, match="no such program file"):
        latency.measure(Path("nowhere.py"))


# An XSpace written by hand after the profiler's public schema; it was not recorded on a TPU.
XSPACE = """
planes { name: "/host:CPU" }
planes {
  name: "/device:TPU:0"
  event_metadata { key: 1 value { id: 1 name: "jit_ragctx_timed(1234)" } }
  event_metadata { key: 2 value { id: 2 name: "jit_other(5)" } }
  event_metadata { key: 3 value { id: 3 name: "fusion.1" } }
  lines { name: "XLA Ops" events { metadata_id: 3 offset_ps: 0 duration_ps: 9000000 } }
  lines {
    name: "XLA Modules"
    events { metadata_id: 1 offset_ps: 50000000 duration_ps: 3000000 }
    events { metadata_id: 2 offset_ps: 20000000 duration_ps: 7000000 }
    events { metadata_id: 1 offset_ps: 10000000 duration_ps: 1000000 }
    events { metadata_id: 1 offset_ps: 90000000 duration_ps: 2000000 }
  }
}
"""


def test_device_time_is_that_of_the_programs_own_runs():
    from jax.profiler import ProfileData

    profile = ProfileData.from_serialized_xspace(ProfileData.text_proto_to_serialized_xspace(XSPACE))
    times = profiler.device_times_ns(profile, "jit_ragctx_timed")
    assert times == [1000.0, 3000.0, 2000.0]
    found = profiler.summary(times, 3)
    assert (found["ms"], found["spread_ms"]) == (pytest.approx(0.002), pytest.approx(0.001))
    assert profiler.summary(times, 4)["ms"] is None
    assert profiler.device_times_ns(profile, "jit_unknown") == []


KERNEL = """
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def create_inputs():
    return jnp.zeros((2048, 1024), jnp.float32), jnp.full((16,), {length}, jnp.int32)

def kernel(lengths, x, o):
    o[...] = x[...]
    @pl.when(pl.program_id(0) < lengths[0])
    def _():
        o[...] = jnp.exp(jnp.sin(x[...]))

def workload(x, lengths):
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(16,),
            in_specs=[pl.BlockSpec((128, 1024), lambda i, _: (i, 0))],
            out_specs=pl.BlockSpec((128, 1024), lambda i, _: (i, 0)),
        ),
    )({argument}, x)
"""


def timed(tmp_path: Path, length: int, argument: str = "lengths") -> latency.Estimate:
    file = tmp_path / f"kernel{length}.py"
    file.write_text(KERNEL.format(length=length, argument=argument))
    return latency.estimate(file)


@pytest.mark.tpu_compiler
def test_a_kernel_moves_its_blocks_and_does_what_its_scalars_say(tmp_path: Path):
    none, half, every = (timed(tmp_path, length) for length in (0, 8, 16))
    moved = 2 * 2048 * 1024 * 4
    for found in (none, half, every):
        assert found.pallas and found.latency.method == "schedule"
        # The blocks, and the lengths in 512 bytes.
        assert found.latency.detail["hbm_bytes"] == moved + 512
        assert found.memory is not None and found.memory["argument_bytes"] >= moved // 2
        assert found.cost_analysis.ms is None
    counts = [found.latency.detail["bundles"] for found in (none, half, every)]
    # A step that computes is as long as every other that does, but for the bundles that skip it.
    assert counts[2] - counts[1] == counts[1] - counts[0] > 8 * 128
    assert none.latency.ms is not None and none.latency.ms >= moved / 1.64e12 * 1e3


@pytest.mark.tpu_compiler
def test_scalars_that_a_program_computes_are_unknown(tmp_path: Path):
    found = timed(tmp_path, 3, "lengths * (x[0, 0] > 0)")
    assert found.latency.ms is None and "depends on data" in found.latency.detail["reason"]


@pytest.mark.tpu_compiler
def test_plain_xla_has_both_numbers(tmp_path: Path):
    file = tmp_path / "plain.py"
    file.write_text(
        "import jax.numpy as jnp\n"
        "def create_inputs():\n    return (jnp.zeros((4096, 4096), jnp.bfloat16),) * 2\n"
        "def workload(x, y):\n    return x @ y\n"
    )
    found = latency.estimate(file)
    assert found.pallas is False and found.cost_analysis.ms is not None and found.schedule.ms is not None
    # 2 * 4096^3 operations at the peak of 918 TFLOP/s; the compiler comes within a third of it.
    assert 1 < found.schedule.ms / (2 * 4096**3 / 918e12 * 1e3) < 1.34
    elsewhere = latency.estimate(file, target="v5e")
    assert elsewhere.schedule.ms is None and elsewhere.latency.method == "cost_analysis"


@pytest.mark.slow
def test_the_profiler_harness_on_a_cpu_has_no_device_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # The variables that hide a TPU are dropped for a measurement; here they stay.
    monkeypatch.setattr(latency, "TPU_LESS_ENVIRONMENT", {})
    assert TPU_LESS_ENVIRONMENT["JAX_PLATFORMS"] == "cpu"
    file = tmp_path / "tiny.py"
    file.write_text("import jax.numpy as jnp\ndef create_inputs():\n    return (jnp.ones((8, 128)),)\n")
    file.write_text(file.read_text() + "def workload(x):\n    return x + 1\n")
    found = latency.measure(file, warmups=1, runs=3)
    assert (found.ms, found.method) == (None, "profiler")
    assert found.detail == {"reason": "the trace has no run of the program on a TPU", "device": "cpu"}
