"""A verdict for people: the ladder, the error with its line of code, what it means, what to read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from ragctx.errors import RagctxError
from ragctx.verify.verdict import Latency, Status, Verdict

_STYLES = {Status.PASSED: "green", Status.FAILED: "bold red", Status.SKIPPED: "dim"}
_RESULTS = {True: ("done", "bold green"), False: ("failed", "bold red"), None: ("undecided", "bold yellow")}


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text and the rich style it has on a terminal."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate of many: its verdict, or why it has none."""

    candidate: str
    workload: str
    verdict: Verdict | None
    error: RagctxError | None = None


def harmless(text: str) -> str:
    """Return text that does nothing to a terminal: a candidate may have written it."""
    return "".join(c if c.isprintable() else " " for c in text)


def show(lines: Iterable[Sequence[Piece]], *, err: bool = False) -> None:
    """Print lines: styled on a terminal, plain text elsewhere."""
    stream = sys.stderr if err else sys.stdout
    if not stream.isatty():
        for line in lines:
            click.echo("".join(piece.text for piece in line).rstrip(), err=err)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=err, highlight=False)
    for line in lines:
        console.print(Text.assemble(*((piece.text, piece.style) for piece in line)), soft_wrap=True)


def verdict_lines(verdict: Verdict, candidate: str) -> list[list[Piece]]:
    """Return the lines that tell a verdict."""
    word, style = _RESULTS[verdict.passed]
    first = [Piece(f"{harmless(candidate)}: "), Piece(word, style)]
    if verdict.passed is not True:
        first.append(Piece(f" at {verdict.stage}" + (f": {verdict.kind}" if verdict.kind else "")))
    lines = [first, *_ladder(verdict)]
    if verdict.message:
        lines.append(
            [Piece("error: " if verdict.passed is False else "why: ", "bold"), Piece(harmless(verdict.message))]
        )
    if verdict.code:
        text = harmless(str(verdict.code["text"]).expandtabs(4))
        lines.append([Piece(f"{verdict.code['line']:>6} | ", "dim"), Piece(text, "cyan")])
    lines += [[Piece("       "), Piece(_mismatch(m))] for m in verdict.mismatch]
    if verdict.explanation:
        lines.append([Piece("meaning: ", "bold"), Piece(verdict.explanation)])
    for number, document in enumerate(verdict.documents):
        lines.append([Piece("read: " if number == 0 else "      ", "bold"), Piece(f"ragctx show {document}")])
    lines += [[Piece("note: ", "bold"), Piece(harmless(note))] for note in verdict.notes]
    lines += [[Piece(text, "dim")] for text in _facts(verdict)]
    return lines


def _ladder(verdict: Verdict) -> list[list[Piece]]:
    lines = []
    for stage in verdict.stages:
        line = [Piece(f"  {stage.name:<10} "), Piece(f"{stage.status:<8}", _STYLES[stage.status])]
        if stage.status is not Status.SKIPPED:
            line.append(Piece(f"{stage.cpu_s:7.2f} CPU-s", "dim"))
        elif stage.reason:
            line.append(Piece(f"({harmless(stage.reason)})", "dim"))
        lines.append(line)
    return lines


def _mismatch(mismatch: Any) -> str:
    """Return where and by how much one output is wrong."""
    get = mismatch.get
    where = f"output {get('output')}, " if "output" in mismatch else ""
    seed = f"seed {get('seed')}: " if "seed" in mismatch else ""
    text = f"{where}{seed}{get('count', 0):,} of {get('size', 0):,} values wrong, first at {get('first')}"
    return harmless(f"{text}; at {get('worst')} {get('got')}, expected {get('expected')}")


def _facts(verdict: Verdict) -> list[str]:
    facts = []
    if verdict.latency_measured is not None:
        facts.append(f"latency, measured: {_latency(verdict.latency_measured)}")
    if verdict.latency_estimated is not None:
        facts.append(f"latency, estimated: {_latency(verdict.latency_estimated)}")
    parts = [f"targets {', '.join(verdict.targets)}"] if verdict.targets else []
    if verdict.seeds:
        parts.append(f"seeds {', '.join(map(str, verdict.seeds))}")
    if verdict.pallas_share is not None:
        parts.append(f"{100 * verdict.pallas_share:.0f} % of the work in kernels")
    parts += [f"{name} {version}" for name, version in sorted(verdict.versions.items())]
    if parts:
        facts.append("; ".join(parts))
    if verdict.isolation:
        facts.append(f"isolation: {verdict.isolation}")
    return facts


def _latency(latency: Latency) -> str:
    if latency.ms is None:
        return f"none ({latency.method})"
    spread = f" +- {latency.spread_ms:.3g}" if latency.spread_ms is not None else ""
    return f"{latency.ms:.4g}{spread} ms ({latency.method})"


def table_lines(rows: Sequence[Row]) -> list[list[Piece]]:
    """Return a table of many candidates, and how many ended how."""
    heads = ("candidate", "workload", "result", "stage", "kind", "message")
    cells = [_cells(row) for row in rows]
    widths = [max(len(heads[n]), *(len(line[n]) for line in cells), 0) for n in range(5)]
    lines = [[Piece("  ".join([*(f"{h:<{w}}" for h, w in zip(heads, widths, strict=False)), heads[-1]]), "bold")]]
    for row, line in zip(rows, cells, strict=True):
        style = "bold red" if row.verdict is None else _RESULTS[row.verdict.passed][1]
        pieces = [Piece(f"{text:<{width}}  ") for text, width in zip(line, widths, strict=False)]
        pieces[2] = Piece(pieces[2].text, style)
        lines.append([*pieces, Piece(line[-1])])
    counts: dict[str, int] = {}
    for line in cells:
        counts[line[2]] = counts.get(line[2], 0) + 1
    summary = ", ".join(
        f"{counts[word]} {word}" for word in ("done", "failed", "undecided", "bad input") if word in counts
    )
    return [*lines, [Piece(f"{len(rows)} candidates: {summary}")]]


def _cells(row: Row) -> tuple[str, ...]:
    if row.verdict is None:
        return (row.candidate, row.workload or "-", "bad input", "-", "-", harmless(str(row.error)))
    v = row.verdict
    word = _RESULTS[v.passed][0]
    return (harmless(row.candidate), row.workload, word, str(v.stage), str(v.kind or "-"), harmless(v.message)[:100])
