"""The prefix and the supplement: from a workload, a task or an error to a text under a token budget."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ragctx import __version__
from ragctx.context import query
from ragctx.context.feedback import DOCUMENTS, feedback_terms
from ragctx.context.library import Library
from ragctx.context.options import (
    ALWAYS,
    DEFAULT_SUPPLEMENT_TOKENS,
    OF_TARGET,
    SECTION_OF_KIND,
    Context,
    ContextOptions,
    Section,
)
from ragctx.context.quantities import dimensions
from ragctx.context.rank import ASIDE, Evidence, Relevance, best_documents, rank_documents
from ragctx.context.render import Renderer, join
from ragctx.context.select import WHOLE_DOCUMENT_TOKENS, DuplicateFilter, Unit, by_section, fill
from ragctx.corpus import Chunk, Document
from ragctx.corpus.document import GENERATED_LAYER
from ragctx.corpus.inert import inert, one_line
from ragctx.errors import RagctxError
from ragctx.index import Index, open_index
from ragctx.tokens import TokenCounter
from ragctx.workload import WorkloadFacts, facts_for, facts_from_task

SCHEMA = 1
_TITLES = {
    Section.HARDWARE: "Hardware",
    Section.RULES: "Rules for this task",
    Section.API: "API reference",
    Section.EXAMPLES: "Examples",
}
_ALWAYS_TITLE = "Rules that always hold"
# A document that gets less than this share of the best one's relevance is noise, not help.
_LEAST_RELEVANCE = 0.02
_OPENING, _INNER = 0.95, 0.6
# What an installed package says of a symbol for which no card was written counts less than a card.
_GENERATED = 0.6
# How many candidates are rendered per budget; more than can fit.
_CANDIDATES = 120


class ContextBuilder:
    """Builds prefixes and supplements from one index.

    Args:
        index: An opened index, or the folder of one.
        templates: Folder of templates laid over the shipped ones, or None.
        notes: Lines that every manifest carries (what was left out of the index and why).
    """

    def __init__(self, index: Index | Path | str, *, templates: Path | None = None, notes: Sequence[str] = ()) -> None:
        self.index = index if isinstance(index, Index) else open_index(Path(index))
        self._library = Library(self.index)
        self._renderer = Renderer(templates)
        self._counter = TokenCounter(self.index.token_counts)
        self._notes = tuple(notes)
        self._shingles: dict[tuple[str, ...], frozenset[int]] = {}
        self._rendered: dict[tuple[str, ...], tuple[str, int]] = {}

    def prefix(
        self,
        workload: Path | str | WorkloadFacts | None = None,
        *,
        task: str | None = None,
        budget: int | None = None,
        options: ContextOptions | None = None,
        trace: bool = True,
        python: str | None = None,
    ) -> Context:
        """Return the text to put before an agent's prompt.

        Equal corpus, index, workload, options and versions give equal bytes.

        Args:
            workload: A workload file, or facts already derived from one.
            task: A task in plain words instead of a workload; of a long one the first and last 32,768 characters count.
            budget: Tokens the whole prefix may take; overrides `options.budget_tokens`.
            options: Everything else that shapes it.
            trace: Whether a workload file is traced (in a child process) or only read as text.
            python: Interpreter to trace with.

        Raises:
            RagctxError: If neither or both of workload and task are given, the workload cannot be read, or the budget
                is too small for the fixed parts (the message says the least that works).
        """
        options = options or ContextOptions()
        if budget is not None:
            options = replace(options, budget_tokens=budget)
        if (workload is None) == (task is None):
            raise RagctxError("give either a workload or a task", where="prefix")
        if task is not None:
            facts = facts_from_task(query.bounded(task))
        elif isinstance(workload, WorkloadFacts):
            facts = workload
        else:
            assert workload is not None
            facts = facts_for(Path(workload), target=options.target, trace=trace, python=python)
        return _Prefix(self, facts, options).build()

    def supplement(
        self,
        error: str,
        *,
        shown: Iterable[Mapping[str, Any]] = (),
        budget: int = DEFAULT_SUPPLEMENT_TOKENS,
        options: ContextOptions | None = None,
    ) -> Context:
        """Return the documents that address an error, to append after a failed turn's feedback.

        Args:
            error: The error text, a whole traceback if need be.
            shown: Manifests of the prefix and of earlier supplements; none of their chunks is repeated.
            budget: Tokens the supplement may take; where nothing fits, the text is empty.
            options: Target and engine; sections and budget are ignored.

        Raises:
            RagctxError: If the budget is below 1.
        """
        if budget < 1:
            raise RagctxError(f"a budget of {budget} tokens", remedy="give a positive number of tokens")
        return _Supplement(self, error, shown, budget, options or ContextOptions()).build()

    def counts(self, text: str) -> int:
        """Return the exact number of cl100k tokens of a text, using the counts stored in the index."""
        return self._counter.count(text)

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages whose API reference the index holds."""
        return dict(self.index.manifest.get("versions", {}))

    def _digests(self, options: Mapping[str, Any]) -> dict[str, str]:
        return {
            "corpus": str(self.index.manifest.get("corpus_digest", "")),
            "index": self.index.digest,
            "template": self._renderer.digest,
            "options": _digest(options),
        }

    def _unit(self, document: Document, chunks: tuple[Chunk, ...], relevance: float, score: float, reason: str) -> Unit:
        text, tokens = self._block(document, chunks)
        return Unit(SECTION_OF_KIND[document.kind], document.id, chunks, relevance, score, reason, text, tokens)

    def _block(self, document: Document, chunks: tuple[Chunk, ...]) -> tuple[str, int]:
        key = tuple(chunk.id for chunk in chunks)
        known = self._rendered.get(key)
        if known is None:
            whole = len(chunks) == len(self.index.chunks_of(self.index.document_number(document.id)))
            heading = "" if whole else " > ".join(chunks[0].heading)
            values = {
                "id": _attribute(document.id),
                "title": one_line(document.title),
                "heading": _attribute(heading),
                "text": _inert("\n".join(chunk.text for chunk in chunks).rstrip("\n")),
            }
            text = self._renderer.render("document", values)
            known = self._rendered[key] = (text, self._counter.count(text))
        return known

    def _ranked(
        self, terms: Mapping[str, int], engine: str, *, task: str | None = None
    ) -> tuple[list[Relevance], dict[int, float]]:
        """Return documents by relevance, and the score of every chunk that matches.

        A task in plain words calls things by other words than the library's pages do, so for one the words of the
        best documents and the dimensions it mentions are searched for too.
        """
        chunk_scores, own = self._scores(terms, engine)
        aside = self._library.aside(terms)
        feedback: dict[int, float] = {}
        unit: dict[int, float] = {}
        if task is not None and own:
            damped = {d: s * (ASIDE if d in aside else 1.0) for d, s in own.items()}
            best = [(d, damped[d]) for d in best_documents(damped, DOCUMENTS)]
            feedback = self._shares(feedback_terms(self.index, best, self._library.term_counts), engine)
            for dimension in dimensions(task):
                for d, share in self._shares(self.index.query(dimension.words), engine).items():
                    unit[d] = max(unit.get(d, 0.0), share)
        return self._rank(Evidence(own, feedback, unit, aside)), chunk_scores

    def _rank(self, evidence: Evidence) -> list[Relevance]:
        library = self._library
        return rank_documents(evidence, library.references, group=library.kind, reach=library.reach)

    def _scores(self, terms: Mapping[str, int], engine: str) -> tuple[dict[int, float], dict[int, float]]:
        """Return the scores of matching chunks by number, and of documents by their best chunk."""
        scores = self.index.scores(terms, engine=engine)
        found = scores.nonzero()[0]
        values = scores[found].tolist()
        own: dict[int, float] = {}
        for document, score in zip(self.index.chunk_documents[found].tolist(), values, strict=True):
            if score > own.get(document, 0.0):
                own[document] = score
        return dict(zip(found.tolist(), values, strict=True)), own

    def _shares(self, terms: Mapping[str, int], engine: str) -> dict[int, float]:
        """Return document scores as shares of the best."""
        if not terms:
            return {}
        own = self._scores(terms, engine)[1]
        best = max(own.values(), default=1.0)
        return {d: score / best for d, score in own.items()}

    def _units(
        self, ranked: Iterable[Relevance], chunk_scores: Mapping[int, float], target: str, skip: frozenset[str]
    ) -> Iterator[Unit]:
        """Yield candidates for selection: short documents whole, long ones chunk by chunk."""
        best = 0.0
        for relevance in ranked:
            best = best or relevance.value
            if relevance.value < _LEAST_RELEVANCE * best:
                return
            if not self._library.selectable(relevance.document, target):
                continue
            document = self._library.document(relevance.document)
            if document.layer == GENERATED_LAYER:
                relevance = replace(relevance, value=round(relevance.value * _GENERATED, 6))
            reason = self._reason(relevance)
            numbers = self.index.chunks_of(relevance.document)
            chunks = self._library.chunks(relevance.document)
            scored = [(chunk_scores.get(n, 0.0), c) for n, c in zip(numbers, chunks, strict=True) if c.id not in skip]
            if not scored:
                continue
            top = max(score for score, _ in scored)
            card = [(score, c) for score, c in scored if not c.is_reference]
            if card and sum(c.tokens for _, c in card) <= WHOLE_DOCUMENT_TOKENS:
                whole = max(score for score, _ in card)
                yield self._unit(document, tuple(c for _, c in card), relevance.value, whole, reason)
                scored = scored[len(card) :]
                first = len(card)
            else:
                first = 0
            for place, (score, chunk) in enumerate(scored, start=first):
                share = score / top if top else 0.0
                # The opening of a long document says what it is; it comes along for whoever was only sent there.
                share = max(share, _OPENING if relevance.via is not None else 0.0) if place == 0 else share * _INNER
                if share > 0.0:
                    yield self._unit(document, (chunk,), round(relevance.value * share, 6), score, reason)

    def _reason(self, relevance: Relevance) -> str:
        if relevance.via is None:
            return "matches the query"
        return f"needed by {self._library.document(relevance.via).id}"


class _Prefix:
    """One prefix being built."""

    def __init__(self, builder: ContextBuilder, facts: WorkloadFacts, options: ContextOptions) -> None:
        self._builder = builder
        self._library = builder._library
        # A file's name and an error of its own code are anyone's text, and both stand in the prefix.
        self._facts = replace(facts, name=one_line(facts.name), note=one_line(facts.note))
        self._options = options
        self._hardware = self._library.hardware_for(options.target)

    def build(self) -> Context:
        options = self._options
        hardware = self._fixed_units(self._hardware, Section.HARDWARE, OF_TARGET)
        always = self._fixed_units(self._always(), Section.RULES, ALWAYS)
        headings = {section: self._heading(_TITLES[section]) for section in Section if section in _TITLES}
        head = [self._role(), *self._block_of(headings[Section.HARDWARE], hardware)]
        head += self._block_of(self._heading(_ALWAYS_TITLE), always)
        facts = self._facts_text() if Section.FACTS in options.sections else ""
        fixed_tokens = self._builder.counts(join([*head, facts]))
        if fixed_tokens > options.budget_tokens:
            raise RagctxError(
                f"a budget of {options.budget_tokens} tokens is too small for the fixed parts",
                remedy=f"give at least {fixed_tokens}, or leave out a section",
            )
        duplicates = DuplicateFilter(self._builder._shingles)
        for unit in (*hardware, *always):
            duplicates.keep(unit)
        # Joining blocks can only shorten them (one trailing blank line), so the sum over blocks is a safe estimate.
        spare = options.budget_tokens - sum(self._builder.counts(block) for block in (*head, facts))
        selection = fill(
            self._candidates(frozenset(c.id for u in (*hardware, *always) for c in u.chunks)),
            max(0, spare),
            heading_tokens={section: self._builder.counts(text) for section, text in headings.items()},
            duplicates=duplicates,
        )
        taken = selection.units
        text, grouped = self._text(head, headings, taken, facts)
        # Templates of a user may render blocks whose tokens do not add up; the final text decides.
        while self._builder.counts(text) > options.budget_tokens and taken:
            taken = taken[:-1]
            text, grouped = self._text(head, headings, taken, facts)
        units = [*hardware, *always, *(unit for section in _ORDER for unit in grouped.get(section, []))]
        return Context(text, self._manifest(text, units, selection.dropped, facts))

    def _always(self) -> tuple[int, ...]:
        hardware = set(self._library.hardware)
        usable = (n for n in self._library.always if n not in hardware)
        return tuple(n for n in usable if query.for_target(self._library.document(n), self._options.target))

    def _fixed_units(self, numbers: Iterable[int], section: Section, reason: str) -> list[Unit]:
        if section not in self._options.sections:
            return []
        units = []
        for number in numbers:
            document = self._library.document(number)
            unit = self._builder._unit(document, self._library.chunks(number), 1.0, 0.0, reason)
            units.append(replace(unit, section=section))
        return units

    def _candidates(self, skip: frozenset[str]) -> Iterator[Unit]:
        sections = set(self._options.sections) - {Section.HARDWARE, Section.FACTS}
        if not sections:
            return
        index = self._builder.index
        facts = self._facts
        terms = query.workload_terms(index, facts) if facts.source else query.task_terms(index, facts.task)
        if not terms:
            return
        task = None if facts.source else facts.task
        ranked, chunk_scores = self._builder._ranked(terms, self._options.engine, task=task)
        count = 0
        for unit in self._builder._units(ranked, chunk_scores, self._options.target, skip):
            if unit.section in sections:
                yield unit
                count += 1
                if count == _CANDIDATES:
                    return

    def _role(self) -> str:
        if not self._options.role:
            return ""
        values = {
            "hardware": bool(self._hardware),
            "target": self._options.target,
            "versions": self._builder.versions(),
        }
        return self._builder._renderer.render("role", values)

    def _heading(self, title: str) -> str:
        return self._builder._renderer.render("section", {"title": title})

    def _facts_text(self) -> str:
        facts = self._facts
        values = {"facts": facts, "checked": any(a.check_shape is not None for a in (*facts.inputs, *facts.outputs))}
        return _inert(self._builder._renderer.render("facts", values))

    @staticmethod
    def _block_of(heading: str, units: Sequence[Unit]) -> list[str]:
        return [heading, *(unit.text for unit in units)] if units else []

    def _text(
        self, head: Sequence[str], headings: Mapping[Section, str], taken: Sequence[Unit], facts: str
    ) -> tuple[str, dict[Section, list[Unit]]]:
        grouped = by_section(taken)
        blocks = list(head)
        for section in _ORDER:
            blocks += self._block_of(headings[section], grouped.get(section, []))
        return join([*blocks, facts]), grouped

    def _manifest(
        self, text: str, units: Sequence[Unit], dropped: Sequence[Mapping[str, str]], facts: str
    ) -> dict[str, Any]:
        options = self._options
        shaping = {**asdict(options), "sections": list(options.sections)}
        sections: dict[str, int] = {}
        for unit in units:
            sections[unit.section] = sections.get(unit.section, 0) + unit.tokens
        if facts:
            sections[Section.FACTS] = self._builder.counts(facts)
        return {
            "schema": SCHEMA,
            "kind": "prefix",
            "workload": self._facts.name,
            "traced": self._facts.traced,
            "target": options.target,
            "budget": options.budget_tokens,
            "tokens": self._builder.counts(text),
            "sections": {str(name): tokens for name, tokens in sorted(sections.items())},
            "chunks": [entry for unit in units for entry in _entries(self._library, unit)],
            "dropped": [dict(entry) for entry in dropped],
            "notes": [*self._builder._notes, *([self._facts.note] if self._facts.note else [])],
            "digests": {**self._builder._digests(shaping), "facts": _digest(asdict(self._facts))},
            "versions": {"ragctx": __version__, **self._builder.versions()},
        }


_ORDER = (Section.API, Section.EXAMPLES, Section.RULES)


class _Supplement:
    """One supplement being built."""

    def __init__(
        self,
        builder: ContextBuilder,
        error: str,
        shown: Iterable[Mapping[str, Any]],
        budget: int,
        options: ContextOptions,
    ) -> None:
        self._builder = builder
        self._library = builder._library
        self._error = error
        self._shown = frozenset(entry["chunk"] for manifest in shown for entry in manifest.get("chunks", ()))
        self._budget = budget
        self._options = options

    def build(self) -> Context:
        heading = self._builder._renderer.render("supplement", {})
        spare = self._budget - self._builder.counts(heading)
        selection = fill(
            self._candidates(),
            max(0, spare),
            heading_tokens={},
            duplicates=DuplicateFilter(self._builder._shingles),
            shares=None,
        )
        units = sorted(selection.units, key=lambda u: u.order)
        text = join([heading, *(unit.text for unit in units)]) if units else ""
        while units and self._builder.counts(text) > self._budget:
            units = units[:-1]
            text = join([heading, *(unit.text for unit in units)]) if units else ""
        return Context(text, self._manifest(text, units, selection.dropped))

    def _candidates(self) -> Iterator[Unit]:
        """Yield what triggers on the error, then what those documents lean on and what the error's words find."""
        if not self._error.strip():
            return
        addressed = self._library.addressing(self._error)
        for place, number in enumerate(addressed):
            document = self._library.document(number)
            chunks = tuple(c for c in self._library.chunks(number) if c.id not in self._shown)
            if chunks and query.for_target(document, self._options.target):
                yield self._builder._unit(document, chunks, 3.0 - place / 1000, 0.0, "addresses this error")
        terms = query.error_terms(self._builder.index, self._error)
        if not terms:
            return
        ranked, chunk_scores = self._builder._ranked(terms, self._options.engine)
        skip = self._shown | {c.id for n in addressed for c in self._library.chunks(n)}
        best = ranked[0].value if ranked else 1.0
        for count, unit in enumerate(self._builder._units(ranked, chunk_scores, self._options.target, skip)):
            if count == _CANDIDATES:
                return
            # Always below the documents whose triggers match.
            yield replace(unit, relevance=round(unit.relevance / best, 6))

    def _manifest(self, text: str, units: Sequence[Unit], dropped: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        shaping = {"target": self._options.target, "engine": self._options.engine, "budget": self._budget}
        return {
            "schema": SCHEMA,
            "kind": "supplement",
            "target": self._options.target,
            "budget": self._budget,
            "tokens": self._builder.counts(text),
            "chunks": [entry for unit in units for entry in _entries(self._library, unit)],
            "dropped": [dict(entry) for entry in dropped],
            "notes": list(self._builder._notes),
            "digests": {**self._builder._digests(shaping), "error": _digest(self._error)},
            "versions": {"ragctx": __version__, **self._builder.versions()},
        }


def _entries(library: Library, unit: Unit) -> Iterator[dict[str, Any]]:
    document = library.document(library.index.document_number(unit.document))
    for chunk in unit.chunks:
        yield {
            "chunk": chunk.id,
            "document": unit.document,
            "title": document.title,
            "layer": document.layer,
            "file": document.file,
            "section": str(unit.section),
            "score": unit.score,
            "relevance": unit.relevance,
            "tokens": chunk.tokens,
            "reason": unit.reason,
        }


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _inert(text: str) -> str:
    """Return text that cannot close the tag it stands in; documents made in Python may hold control characters."""
    return inert(text).replace("</document", "<\\/document")


def _attribute(text: str) -> str:
    return one_line(text).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
