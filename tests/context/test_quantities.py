from __future__ import annotations

import pytest

from ragctx.context.quantities import DIMENSIONS, dimensions


def names(task: str) -> list[str]:
    return [dimension.name for dimension in dimensions(task)]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("wait 20 seconds", ["time"]),
        ("wait 20s, then 3 ms", ["time"]),
        ("after half an hour", ["time"]),
        ("a rope of 3.5 m", ["length"]),
        ("a belt of 12 inches", ["length"]),
        ("weigh 40 kg", ["mass"]),
        ("heat it to 60 °C", ["temperature"]),
        ("the temperature of the room", ["temperature"]),
        ("turn it by 90 deg", ["angle"]),
        ("a discount of 12%", ["share"]),
        ("two thousandths", ["share"]),
        ("it costs €12", ["money"]),
        ("12.50 USD", ["money"]),
        ("give her $ 1.50", ["money"]),
        ("€12 each", ["money"]),
        ("two litres", ["volume"]),
        ("at 30 km/h", ["speed"]),
        ("5 kg/day", ["time", "mass"]),
        ("a file of 4 MB", ["data"]),
        ("a tone of 440 Hz", ["frequency"]),
        ("a motor of 3 kW", ["energy"]),
        ("at 2 bar", ["pressure"]),
        ("Heat 2 litres to 60 °C within 5 minutes", ["time", "temperature", "volume"]),
    ],
)
def test_a_dimension_is_recognised_by_its_unit_or_its_words(task: str, expected: list[str]) -> None:
    assert names(task) == expected


@pytest.mark.parametrize(
    "task",
    [
        "",
        "write a matmul kernel of 128 x 128 tiles",
        "the s of plural, a metric and a secondhand bike",
        "20 sheep",
        "version 3.11 of the bark",
        "x20sy",
    ],
)
def test_what_is_no_quantity_is_none(task: str) -> None:
    assert names(task) == []


def test_a_dimension_asks_for_its_page_in_words_of_its_own() -> None:
    assert len({dimension.name for dimension in DIMENSIONS}) == len(DIMENSIONS) == 13
    assert dimensions("wait 20 seconds")[0].words == "time duration durations seconds minutes hours"


def test_reading_a_long_task_is_linear() -> None:
    assert names("1," * 15_000 + "1" + " " * 15_000) == []
