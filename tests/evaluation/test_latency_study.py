"""The arithmetic of the latency study, on numbers that can be checked by hand."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

pytest.importorskip("scipy")

from evaluation import latency, latency_plot  # noqa: E402


def row(name: str, published: float, **schedule: float) -> latency.Row:
    """Return a row whose time at efficiency 1 is `raw`; `bound` of it is HBM's and grows as efficiency falls."""
    bound = schedule.get("bound", 0.0)
    times = {e: schedule["raw"] + bound * (1 / e - 1) for e in latency.GRID}
    return latency.Row(name, published, schedule_ms=times)


def test_scores():
    found = latency.score([(1.0, 2.0), (2.0, 2.0), (8.0, 4.0), (16.0, 16.0)])
    assert found == {
        "n": 4,
        "spearman": pytest.approx(0.9486833),
        "median_abs_log2": 0.5,
        "median_log2": 0.0,
        "worst_abs_log2": 1.0,
        "within_25_percent": 2,
    }
    assert latency.score([(1.0, 2.0)]) == {"n": 1}


def test_the_fit_finds_the_efficiency_the_times_were_made_with_and_judges_it_without_the_operator():
    rows = [row(f"{n}/baseline", n / 0.8, raw=float(n), bound=float(n)) for n in range(1, 6)]
    found = latency.fit(rows)
    assert found["hbm_efficiency"] == 0.8
    assert found["leave_one_out"]["worst_abs_log2"] == pytest.approx(0.0, abs=1e-9)
    # An operator that would pull the fit elsewhere is judged by the others' fit.
    rows += [row(f"x/{kind}", 4.0, raw=4.0, bound=4.0) for kind in ("baseline", "optimized")]
    assert latency.fit(rows)["leave_one_out_efficiencies"][0] == 0.8


def test_published_times_are_those_of_the_operators():
    times = latency.published()
    assert times["12p_RMSNorm/baseline"] == 1.1385
    assert times["1p_Flash_Attention/optimized"] == 6.5106
    assert sum(name.endswith("/baseline") for name in times) == 50
    assert sum(name.endswith("/optimized") for name in times) == 8


def test_the_plot_places_a_point_on_the_diagonal_where_times_agree():
    points = [latency_plot.Point("a & b", 1.0, 1.0, True), latency_plot.Point("c", 10.0, 5.0, False)]
    root = ET.fromstring(latency_plot.scatter([latency_plot.Panel("t", points)]))
    circles = root.findall("{http://www.w3.org/2000/svg}circle")
    places = [(float(c.get("cx", "")), float(c.get("cy", ""))) for c in circles]
    side, margin = latency_plot.SIDE, latency_plot.MARGIN
    assert places[0][0] - margin == pytest.approx(margin + side - places[0][1], abs=0.2)
    assert places[1][0] > places[0][0] and places[1][0] - margin > margin + side - places[1][1]
    assert [c[0].text for c in circles] == ["a & b: 1 for 1 ms", "c: 5 for 10 ms"]
