"""What each signal of relevance should count for, fitted on the sets of evaluation/retrieval.

    python -m evaluation.retrieval.fit

A logistic regression of "the task needs this page" on the signals of `ragctx.context.rank`, ridge penalty 1, one fit
a set and the mean of the fits. Printed are the mean over all sets, and for each set the mean over the others with what
those weights find on the set left out. The weights in `ragctx.context.rank` are such a mean, rounded, with what comes
by reference raised a little: the fit minimises likelihood, the prefix wants whole tasks.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from evaluation.retrieval.in_house import SETS, Task, load_tasks, measure
from ragctx.context import ContextBuilder
from ragctx.context.rank import Evidence, Relevance, Weights, rank_documents, signals
from ragctx.corpus import Layer, load_corpus
from ragctx.index import build_index

NAMES = tuple(field.name for field in fields(Weights))
PENALTY = 1.0
BUDGET = 8000

Floats = npt.NDArray[np.float64]


class Recorder(ContextBuilder):
    """A builder that keeps the signals of its last query and ranks by weights that can be set."""

    weights = Weights()
    table: dict[int, tuple[float, ...]]

    def _rank(self, evidence: Evidence) -> list[Relevance]:
        library = self._library
        how: dict[str, Any] = {"group": library.kind, "reach": library.reach, "weights": self.weights}
        found = signals(evidence, library.references, **how)
        self.table = {d: tuple(getattr(s, name) for name in NAMES) for d, s in found.items()}
        return rank_documents(evidence, library.references, **how)


def rows(builder: Recorder, tasks: Sequence[Task]) -> tuple[Floats, Floats]:
    """Return the signals of every page for every task, and whether the task needs it."""
    files = {n: builder.index.document_at(n).file for n in range(builder.index.documents_count)}
    signals_of: list[tuple[float, ...]] = []
    needed: list[bool] = []
    for task in tasks:
        builder.prefix(task=task.text, budget=BUDGET)
        for document, file in files.items():
            signals_of.append(builder.table.get(document, (0.0,) * len(NAMES)))
            needed.append(file in task.needs)
    return np.array(signals_of), np.array(needed, dtype=float)


def fit(x: Floats, y: Floats) -> Floats:
    """Return the weights of a ridge-penalised logistic regression, the intercept dropped."""

    def loss(w: Floats) -> tuple[float, Floats]:
        z = np.clip(x @ w[:-1] + w[-1], -30, 30)
        p = 1 / (1 + np.exp(-z))
        value = -(y * np.log(p) + (1 - y) * np.log(1 - p)).sum() + PENALTY * (w[:-1] ** 2).sum()
        return float(value), np.append(x.T @ (p - y) + 2 * PENALTY * w[:-1], (p - y).sum())

    found = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B")
    return np.asarray(found.x[:-1])


def main() -> int:
    """Fit, and print the weights and what they find."""
    with tempfile.TemporaryDirectory() as folder:
        builders, tasks, fitted = {}, {}, {}
        for name, (place, _) in SETS.items():
            corpus = load_corpus([Layer(name, place / "docs", strict=False)])
            builders[name] = Recorder(build_index(corpus.documents, Path(folder, name)))
            tasks[name] = load_tasks(place / "tasks.yaml")
            fitted[name] = fit(*rows(builders[name], tasks[name]))
        show("mean of all", np.mean(list(fitted.values()), axis=0))
        show("in use", np.array([getattr(Weights(), n) for n in NAMES]))
        for name, builder in builders.items():
            weights = np.mean([w for other, w in fitted.items() if other != name], axis=0)
            builder.weights = Weights(**dict(zip(NAMES, map(float, weights), strict=True)))

            def find(task: str, budget: int, builder: Recorder = builder) -> set[str]:
                return {entry["file"] for entry in builder.prefix(task=task, budget=budget).manifest["chunks"]}

            found = measure(tasks[name], BUDGET, find)
            print(f"{name} left out: finds {found.found:.1%}, {found.complete} of {found.tasks} complete")
    return 0


def show(title: str, weights: Floats) -> None:
    """Print weights by name."""
    print(f"{title}: " + ", ".join(f"{n} {w:.2f}" for n, w in zip(NAMES, weights, strict=True)))


if __name__ == "__main__":
    sys.exit(main())
