"""A scatter plot of predicted against published times, as SVG: log axes, one panel an environment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

SIDE = 420
MARGIN = 56


@dataclass(frozen=True, slots=True)
class Point:
    """One program: name, published and predicted ms, and whether it has Pallas kernels."""

    name: str
    published_ms: float
    predicted_ms: float
    pallas: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot."""

    title: str
    points: Sequence[Point]


def scatter(panels: Sequence[Panel]) -> str:
    """Return the SVG text; every point carries its name as a tooltip."""
    values = [v for panel in panels for p in panel.points for v in (p.published_ms, p.predicted_ms)]
    low = math.floor(math.log10(min(values, default=0.1)) * 3) / 3
    high = math.ceil(math.log10(max(values, default=10.0)) * 3) / 3
    width, height = len(panels) * (SIDE + 2 * MARGIN), SIDE + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, panel in enumerate(panels):
        lines += _panel(panel, MARGIN + number * (SIDE + 2 * MARGIN), low, high)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _panel(panel: Panel, left: int, low: float, high: float) -> list[str]:
    def x(ms: float) -> str:
        return f"{left + (math.log10(ms) - low) / (high - low) * SIDE:.1f}"

    def y(ms: float) -> str:
        return f"{MARGIN + SIDE - (math.log10(ms) - low) / (high - low) * SIDE:.1f}"

    bottom = MARGIN + SIDE
    lines = [
        f'<rect x="{left}" y="{MARGIN}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#444"/>',
        f'<text x="{left}" y="{MARGIN - 30}">{escape(panel.title)}</text>',
        f'<text x="{left}" y="{MARGIN - 12}" fill="#555">filled: Pallas kernels; dashed: a factor of 1.25</text>',
        f'<text x="{left + SIDE // 2}" y="{bottom + 36}" text-anchor="middle">published ms</text>',
        f'<text transform="translate({left - 40} {MARGIN + SIDE // 2}) rotate(-90)" text-anchor="middle">'
        "predicted ms</text>",
    ]
    for exponent in range(math.ceil(low), math.floor(high) + 1):
        ms = 10.0**exponent
        lines.append(f'<text x="{x(ms)}" y="{bottom + 16}" text-anchor="middle">{ms:g}</text>')
        lines.append(f'<text x="{left - 6}" y="{y(ms)}" text-anchor="end">{ms:g}</text>')
        lines.append(f'<path d="M{x(ms)} {MARGIN}V{bottom}M{left} {y(ms)}H{left + SIDE}" stroke="#ddd"/>')
    start, end = 10**low, 10**high
    for factor, style in ((1.0, ""), (1.25, ' stroke-dasharray="4 3"'), (0.8, ' stroke-dasharray="4 3"')):
        first, last = max(start, start / factor), min(end, end / factor)
        lines.append(
            f'<path d="M{x(first)} {y(first * factor)}L{x(last)} {y(last * factor)}" stroke="#888" fill="none"{style}/>'
        )
    for point in panel.points:
        fill = "#c0392b" if point.pallas else "none"
        lines.append(
            f'<circle cx="{x(point.published_ms)}" cy="{y(point.predicted_ms)}" r="4" fill="{fill}" stroke="#c0392b">'
            f"<title>{escape(point.name)}: {point.predicted_ms:.3g} for {point.published_ms:.3g} ms</title></circle>"
        )
    return lines
