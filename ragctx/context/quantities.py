"""Quantities in a task: a task says "20 seconds", the page it needs says in which unit the library counts time.

Recognising a dimension in a task gives a query of its own, for the page that explains the unit, the converter or the
scale. Words of the query are those by which pages on units call the dimension.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Bounded: a task may hold pages of figures.
_NUMBER = r"\d[\d.,]{0,20}"


@dataclass(frozen=True, slots=True)
class Dimension:
    """A physical or monetary dimension: how a task mentions it, and the words of a page on its unit."""

    name: str
    mentioned: re.Pattern[str]
    words: str


def _dimension(name: str, symbols: str, words: str, query: str) -> Dimension:
    """Build a dimension from unit symbols (only after a number) and words (anywhere)."""
    pattern = rf"(?:{_NUMBER}\s{{0,3}}-?(?:{symbols})(?![\w°]|/[sh]\b)|(?<!\w)(?:{words})(?!\w))"
    return Dimension(name, re.compile(pattern, re.IGNORECASE), query)


DIMENSIONS: tuple[Dimension, ...] = (
    _dimension(
        "time",
        "s|sec|secs|ms|us|ns|min|mins|h|hr|hrs|d",
        "(?:milli|micro)?seconds?|minutes?|hours?|days?|weeks?|months?|half an hour|an hour and a half",
        "time duration durations seconds minutes hours",
    ),
    _dimension(
        "length",
        "m|mm|cm|km|um|in|ft|yd|mi",
        "(?:milli|centi|kilo)?met(?:er|re)s?|inch(?:es)?|feet|foot|yards?|miles?",
        "length lengths metres meters millimetres distance",
    ),
    _dimension(
        "mass",
        "kg|g|mg|t|lb|lbs|oz",
        "kilos?|(?:kilo|milli)?grams?|tonnes?|pounds?|ounces?",
        "mass weight kilograms grams",
    ),
    _dimension(
        "temperature",
        "°|°\\s?[CFK]|degrees? (?:celsius|fahrenheit)|K",
        "celsius|fahrenheit|kelvins?|temperatures?",
        "temperature temperatures celsius degrees",
    ),
    _dimension(
        "angle",
        "°|deg|degrees?|rad|radians?",
        "degree headings?|radians?|half-turn|quarter-turn",
        "angle angles degrees rotation",
    ),
    _dimension(
        "share",
        "%|‰|per ?cent|bp|bps",
        "per ?cent(?:age)?s?|thousandths?|hundredths?|basis points?",
        "percent per cent percentage ratio share",
    ),
    _dimension(
        "money",
        "[€$£¥]|eur|usd|gbp|chf|kr",
        "[€$£¥]\\s?\\d{1,20}|euros?|dollars?|cents?|pounds sterling|kroner|kronor|francs?|yen|prices?|costs?",
        "money price amount currency euros cents",
    ),
    _dimension(
        "volume",
        "l|ml|cl|gal|m3|m³",
        "lit(?:er|re)s?|millilit(?:er|re)s?|gallons?|cubic met(?:er|re)s?",
        "volume litres liters flow",
    ),
    _dimension(
        "speed",
        "m/s|km/h|mph|kn|kph",
        "met(?:er|re)s? (?:per|a) second|knots?|speeds?",
        "speed velocity rate per second",
    ),
    _dimension("data", "B|kB|KB|MB|GB|TB|KiB|MiB|GiB", "(?:kilo|mega|giga|tera)?bytes?", "size bytes megabytes"),
    _dimension(
        "frequency", "Hz|kHz|MHz|GHz|rpm", "hertz|(?:kilo|mega|giga)hertz|times per second", "frequency hertz rate"
    ),
    _dimension(
        "energy",
        "W|kW|MW|Wh|kWh|MWh|J|kJ|V|A|mA",
        "(?:kilo|mega)?watts?(?:-hours?)?|joules?|volts?|amperes?",
        "power energy watts kilowatts",
    ),
    _dimension("pressure", "bar|mbar|Pa|hPa|kPa|psi", "pascals?|millibars?", "pressure bar pascal"),
)


def dimensions(task: str) -> list[Dimension]:
    """Return the dimensions that a task mentions, in a fixed order."""
    return [dimension for dimension in DIMENSIONS if dimension.mentioned.search(task)]
