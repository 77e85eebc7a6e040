"""How much faster the stored arrays answer than the rank-bm25 engine, on the same terms, in one run.

    python evaluation/bench_index.py                      # 1,000 and 15,000 chunks
    python evaluation/bench_index.py --sizes 1000 --queries 100 --out /tmp/results

Corpora are synthetic text with a Zipf vocabulary (seeded), led by as much of the shipped corpus as there is. They are
built, opened from disk and searched through the public API. Each query is timed once with either engine, in turn, its
terms looked up for the first time; both must give the same hits. Writes index.json and index.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from ragctx import data
from ragctx.corpus import Document, Kind, Layer, chunk_document, load_corpus
from ragctx.errors import RagctxError
from ragctx.index import ENGINES, Hit, Index, build_index
from ragctx.index.build import versions
from ragctx.tokens import TokenCounter

GOALS = {1_000: 10.0, 15_000: 100.0}
VOCABULARY = 30_000
EXPONENT = 1.07
WORDS_A_CHUNK = 130
TOP_K = 20

OPEN = """
import re, sys, time
from pathlib import Path
from ragctx.index import open_index
def memory_mb():
    # The peak that getrusage tells is inherited from the parent process on Linux.
    status = Path("/proc/self/status").read_text()
    return [int(re.search(name + r":\\s+(\\d+)", status)[1]) / 1024 for name in ("VmHWM", "RssAnon")]
before = memory_mb()
start = time.perf_counter()
index = open_index(Path(sys.argv[1]))
opened = time.perf_counter() - start
index.search(sys.argv[2], k=20)
print(opened * 1e3, *(now - then for now, then in zip(memory_mb(), before)))
"""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured at one size; query times are CPU times, medians over the queries.

    Attributes:
        chunks: Chunks in the index.
        shipped_chunks: How many of them are the shipped corpus.
        terms: Distinct terms of the index.
        postings: (term, chunk) pairs.
        queries: Queries timed.
        query_terms: Median terms a query.
        stored_us: Query time of the stored arrays, terms looked up for the first time.
        stored_again_us: The same queries once more.
        reference_us: Query time of the rank-bm25 engine.
        ratio: Median over queries of reference time / stored time.
        ratio_low: Tenth percentile of that ratio.
        goal: What the ratio should reach, or None.
        build_s: Time to build the index, references between documents left out.
        open_ms: Time to open it in a process of its own.
        peak_mb: What opening it and one search add to that process's peak memory; mostly pages of the mapped files,
            which the system may take back.
        own_mb: What of that is the process's own.
        index_mb: Its size on disk.
    """

    chunks: int
    shipped_chunks: int
    terms: int
    postings: int
    queries: int
    query_terms: float
    stored_us: float
    stored_again_us: float
    reference_us: float
    ratio: float
    ratio_low: float
    goal: float | None
    build_s: float
    open_ms: float
    peak_mb: float
    own_mb: float
    index_mb: float


def main() -> int:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(GOALS), help="chunks of each corpus")
    parser.add_argument("--queries", type=int, default=60, help="queries a corpus")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    load_before = os.getloadavg()
    measurements = []
    for size in options.sizes:
        print(f"{size:,} chunks ...", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="ragctx-bench-") as folder:
            measurements.append(measure(size, options.queries, random.Random(options.seed), Path(folder)))
    result = {
        "command": shlex.join(["python", "evaluation/bench_index.py", *sys.argv[1:]]),
        "load_average_before": [round(value, 2) for value in load_before],
        "load_average_after": [round(value, 2) for value in os.getloadavg()],
        "machine": {"cpus": os.cpu_count(), "processor": platform.machine(), "python": platform.python_version()},
        "packages": {**versions(), "numpy": np.__version__},
        "seed": options.seed,
        "measurements": [asdict(measurement) for measurement in measurements],
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "index.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    markdown = report(result, measurements)
    (options.out / "index.md").write_text(markdown, encoding="utf-8")
    print(markdown, end="")
    return 0


def measure(size: int, queries: int, draw: random.Random, folder: Path) -> Measurement:
    """Build a corpus of `size` chunks and time queries over it with both engines."""
    documents = corpus(size, draw)
    start = time.perf_counter()
    index = build_index(documents, folder, edges=())
    build_s = time.perf_counter() - start
    texts = [query_text(index, draw) for _ in range(queries)]
    terms = [index.query(text) for text in texts]
    index.search({"warm": 1}, k=TOP_K)
    index.search({"warm": 1}, k=TOP_K, engine="rank-bm25")
    times: dict[str, list[float]] = {"bm25s": [], "rank-bm25": [], "again": []}
    for number, query in enumerate(terms):
        answers = []
        for engine in ENGINES if number % 2 == 0 else reversed(ENGINES):
            seconds, hits = timed(partial(index.search, query, k=TOP_K, engine=engine))
            times[engine].append(seconds)
            answers.append(hits)
        if answers[0] != answers[1]:
            raise AssertionError(f"the engines disagree on {texts[number]!r}")
        times["again"].append(timed(partial(index.search, query, k=TOP_K))[0])
    ratios = sorted(slow / fast for slow, fast in zip(times["rank-bm25"], times["bm25s"], strict=True))
    open_ms, peak_mb, own_mb = opening(folder, texts[0])
    ours = sum(not document_id.startswith("api/synthetic-") for document_id in index.document_ids)
    return Measurement(
        chunks=len(index),
        shipped_chunks=ours,
        terms=index.manifest["counts"]["terms"],
        postings=index.manifest["counts"]["postings"],
        queries=queries,
        query_terms=statistics.median(map(len, terms)),
        stored_us=round(statistics.median(times["bm25s"]) * 1e6, 1),
        stored_again_us=round(statistics.median(times["again"]) * 1e6, 1),
        reference_us=round(statistics.median(times["rank-bm25"]) * 1e6, 1),
        ratio=round(statistics.median(ratios), 1),
        ratio_low=round(ratios[len(ratios) // 10], 1),
        goal=GOALS.get(size),
        build_s=round(build_s, 2),
        open_ms=round(open_ms, 2),
        peak_mb=round(peak_mb, 1),
        own_mb=round(own_mb, 1),
        index_mb=round(sum(path.stat().st_size for path in index.path.iterdir()) / 2**20, 1),
    )


def timed(call: Callable[[], list[Hit]]) -> tuple[float, list[Hit]]:
    """Return the CPU-seconds of this thread that a call took, and its answer.

    CPU time, because on a busy machine the wall clock adds the most to what runs longest, in favour of a large ratio.
    """
    start = time.thread_time()
    answer = call()
    return time.thread_time() - start, answer


def opening(folder: Path, text: str) -> tuple[float, ...]:
    """Return the milliseconds opening takes in a fresh process, and the MB that it and one search add: peak, own."""
    command = [sys.executable, "-c", OPEN, str(folder), text]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return tuple(map(float, answer))


def corpus(size: int, draw: random.Random) -> list[Document]:
    """Return documents of exactly `size` chunks: the shipped corpus, filled up with synthetic pages of one chunk."""
    counter = TokenCounter()
    documents: list[Document] = []
    chunks = 0
    for document in shipped():
        count = len(chunk_document(document, counter))
        if chunks + count <= size:
            documents.append(document)
            chunks += count
    words = Zipf(draw)
    for number in range(size - chunks):
        text = " ".join(words.next() for _ in range(WORDS_A_CHUNK))
        title = f"synthetic-{number}"
        documents.append(Document(f"api/{title}", Kind.API, title, f"# {title}\n\n{text}\n"))
    return documents


def shipped() -> Sequence[Document]:
    """Return the shipped corpus, or nothing where it cannot be loaded."""
    try:
        return load_corpus([Layer("shipped", data.corpus(), strict=True)]).documents
    except RagctxError as error:
        print(f"without the shipped corpus: {error}", file=sys.stderr)
        return ()


class Zipf:
    """Draws words whose frequency falls with their rank to the power of `EXPONENT`.

    One word in five is an identifier of two or three parts, so that terms overlap as they do in documentation of code.
    """

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        seen: dict[str, None] = {}
        while len(seen) < VOCABULARY:
            seen[self._word()] = None
        self._words = list(seen)
        self._cumulative = list(accumulate((rank + 1) ** -EXPONENT for rank in range(VOCABULARY)))

    def next(self) -> str:
        """Return the next word."""
        return self._draw.choices(self._words, cum_weights=self._cumulative)[0]

    def _word(self) -> str:
        parts = [self._syllables() for _ in range(self._draw.choice((1, 1, 1, 1, 1, 1, 1, 1, 2, 3)))]
        return "_".join(parts)

    def _syllables(self) -> str:
        return "".join(
            self._draw.choice("bdfgklmnprstvz") + self._draw.choice("aeiou") for _ in range(self._draw.randint(1, 4))
        )


def query_text(index: Index, draw: random.Random) -> str:
    """Return a query: 6 to 14 words, in the order and with the frequency they have in a chunk drawn at random."""
    text = index.chunk(draw.randrange(len(index))).text.split()
    picked = sorted(draw.sample(range(len(text)), min(len(text), draw.randint(6, 14))))
    return " ".join(text[i] for i in picked)


def report(result: dict[str, Any], measurements: Sequence[Measurement]) -> str:
    """Return the results as Markdown."""
    before, after = result["load_average_before"][0], result["load_average_after"][0]
    machine, packages = result["machine"], result["packages"]
    lines = [
        "# Query time: stored arrays against rank-bm25",
        "",
        f"Made by `{result['command']}`; load average {before} before and {after} after,",
        f"on {machine['cpus']} CPUs, Python {machine['python']}, NumPy {packages['numpy']}, bm25s {packages['bm25s']}.",
        "",
        "Both engines get the same terms and gave the same hits and scores for every query. Times are medians over",
        "the queries, in microseconds of CPU time: each query was timed once with either engine, in turn, its terms",
        'looked up for the first time ("again": once more). The ratio is the median of the ratios of single queries.',
        "",
        "| chunks | shipped | terms a query | stored arrays | again | rank-bm25 | ratio | 10th percentile | goal |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {m.chunks:,} | {m.shipped_chunks:,} | {m.query_terms:g} | {m.stored_us:,.0f} | {m.stored_again_us:,.0f} "
        f"| {m.reference_us:,.0f} | {m.ratio:,.1f}x | {m.ratio_low:,.1f}x | {f'{m.goal:g}x' if m.goal else '-'} |"
        for m in measurements
    ]
    lines += [
        "",
        "| chunks | terms | postings | build (s) | size (MB) | open (ms) | open and search: peak (MB) | own (MB) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {m.chunks:,} | {m.terms:,} | {m.postings:,} | {m.build_s:g} | {m.index_mb:g} | {m.open_ms:g} "
        f"| {m.peak_mb:g} | {m.own_mb:g} |"
        for m in measurements
    ]
    lines += ["", "Peak memory is mostly pages of the mapped files, which the system may take back; own memory is not."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
