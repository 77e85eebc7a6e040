"""The code-aware tokenizer: what a text, and what a query, is searched by.

`Tokenizer.tokens` turns a document's text into index terms; `Tokenizer.query` turns a query's text into terms with
integer weights. Both see the same lexemes:

- identifiers, whole and in parts: `pl.BlockSpec` gives `pl.blockspec, blockspec, block, spec`;
- shapes as a term of their own, beside their numbers: `(8, 128)`, `f32[8,128]`, `vector<8x128xf32>` give `(8,128)`;
- prose words and their English stems (parts of identifiers are stemmed too, whole identifiers never);
- runs of scripts that are written without spaces, as character bigrams; a character alone as itself;
- phrases of error messages: pairs of neighbouring content words on a line that quotes an error.

Text is compared after Unicode NFKC and case folding. Every step is linear in the text.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from ragctx.index.stopwords import STOP_WORDS

VERSION = 1

# Longer lexemes are base64, hashes and minified code: nobody searches for them, and each would be a term of its own.
_LONGEST_TERM = 100
_MOST_PARTS = 24
_CACHE_LIMIT = 200_000

# Scripts written without spaces (and Korean, whose particles stick to the word before): Thai, Lao, Burmese, Hangul,
# Khmer, kana, bopomofo, CJK ideographs and their extensions.
_NO_SPACES = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u318f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
# `\w` has no combining marks: without these, words of Indic and Arabic scripts would fall apart at their vowels.
_LETTER = r"[\w\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff]"
_NO_SPACES_RUN = re.compile(f"[{_NO_SPACES}]+")
_NO_SPACES_CHARACTER = re.compile(f"[{_NO_SPACES}]")

# Counts are bounded so that no text makes the matcher go back over more than a few characters.
_SHAPE = r"[(\[] ?\d{1,9}(?: ?, ?\d{1,9}){0,7} ?,? ?[)\]]"
_NUMBER = r"\d+(?:\.\d+)?[eE][+-]?\d+(?!\w)"
_NAME = rf"(?=[^\W\d]){_LETTER}+(?:\.(?=[^\W\d]){_LETTER}+)*"
_DIGITS = rf"\d{_LETTER}*(?:\.\d{_LETTER}*)*"
_LEXEME = re.compile(f"{_SHAPE}|{_NUMBER}|{_NAME}|{_DIGITS}|[{_NO_SPACES}]+")

_TIMES_SHAPE = re.compile(r"([1-9]\d{0,8}(?:x\d{1,9}){1,7})(?:x([a-z]\w{0,20}))?")
_PIECE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
_PLAIN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_ACRONYMS = re.compile(r"[A-Z]{2,}s")
_STEMMABLE = re.compile(r"[a-z]{3,30}")

# What opens an error: an exception's name, a status in capitals, a compiler's error number, a few fixed phrases.
_ERROR_MARK = re.compile(
    r"(?:Error|Exception|Exit|Interrupt|Warning)\b|\b[Ee]rror:|\b[A-Z][A-Z_]{5,40}:|\bE\d{4}\b"
    r"|\b(?:Not ?|Un)[Ii]mplemented\b|\bRan out of memory\b|\bfailed to\b|\bverification failed\b"
)
_QUOTED = re.compile(r"`([^`\n]{1,500})`")

_stemming = threading.Lock()

_SLICE = re.compile(r"\S{1,256}|\s+")


@dataclass(frozen=True, slots=True)
class QueryWeights:
    """How often a query term is repeated, by what it is; integers, as the ranking contract asks.

    Attributes:
        whole: An identifier or a word as it stands (a word whose stem differs shares this between the two).
        part: A part of an identifier (likewise shared with its stem).
        number: A number, alone or inside a shape or an identifier.
        phrase: Two neighbouring content words of an error message.
        synonym: A term that the query does not hold but a synonym of it does.
    """

    whole: int = 4
    part: int = 2
    number: int = 1
    phrase: int = 4
    synonym: int = 1


DEFAULT_WEIGHTS = QueryWeights()


@dataclass(frozen=True, slots=True)
class Entry:
    """A synonym entry as terms.

    Attributes:
        required: The terms that a query must all hold to hold the entry: whole identifiers, stems of words.
        added: The terms by which the entry is searched: whole identifiers, words and their stems.
    """

    required: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Lexeme:
    """The terms of one lexeme in a fixed order, their query weights, and whether it is a plain prose word."""

    terms: tuple[str, ...]
    weights: tuple[int, ...]
    prose: bool


class Tokenizer:
    """Turns text into terms; one instance remembers the lexemes it has taken apart.

    Args:
        weights: The query weights.
    """

    def __init__(self, weights: QueryWeights = DEFAULT_WEIGHTS) -> None:
        self.weights = weights
        self._lexemes: dict[str, _Lexeme] = {}
        self._stem_word: Callable[[str], str] | None = None

    def settings(self) -> dict[str, Any]:
        """Return what identifies this tokenizer in a manifest: equal settings give equal terms."""
        return {
            "name": "code",
            "version": VERSION,
            "normalization": "NFKC+casefold",
            "unicode": unicodedata.unidata_version,
            "stemmer": f"snowball-english {metadata.version('snowballstemmer')}",
        }

    def tokens(self, text: str) -> list[str]:
        """Return the index terms of a text, in order, with repetitions."""
        out: list[str] = []
        for line in _normalised_lines(text):
            for lexeme in _LEXEME.findall(line):
                out += self._lexeme(lexeme).terms
            out += self._phrases(_error_parts(line))
        return out

    def query(self, text: str, *, error: bool = False) -> dict[str, int]:
        """Return the query terms of a text with their integer weights; a term that occurs twice counts once.

        Stop words standing as prose are dropped, unless the text has nothing else.

        Args:
            text: The query.
            error: Whether the whole text is an error message, so that every line gives phrases.
        """
        terms: dict[str, int] = {}
        dropped: dict[str, int] = {}
        for line in _normalised_lines(text):
            for raw in _LEXEME.findall(line):
                lexeme = self._lexeme(raw)
                into = dropped if lexeme.prose and raw.casefold() in STOP_WORDS else terms
                for term, weight in zip(lexeme.terms, lexeme.weights, strict=True):
                    if into.get(term, 0) < weight:
                        into[term] = weight
            for phrase in self._phrases([line] if error else _error_parts(line)):
                terms[phrase] = self.weights.phrase
        kept = {term: weight for term, weight in terms.items() if term not in STOP_WORDS}
        return kept or terms or dropped

    def entry(self, text: str) -> Entry:
        """Return what a synonym entry is recognised by and what it adds to a query."""
        required: dict[str, None] = {}
        added: dict[str, None] = {}
        for line in _normalised_lines(text):
            for raw in _LEXEME.findall(line):
                lexeme = self._lexeme(raw)
                if not lexeme.prose:
                    # The parts of an identifier mean less than the whole: `dot_general` is no synonym of "general".
                    required[lexeme.terms[0]] = added[lexeme.terms[0]] = None
                elif raw.casefold() not in STOP_WORDS:
                    required[lexeme.terms[-1]] = None
                    added.update((term, None) for term in lexeme.terms)
        return Entry(tuple(required), tuple(added))

    def _lexeme(self, raw: str) -> _Lexeme:
        known = self._lexemes.get(raw)
        if known is None:
            known = self._analyse(raw)
            if len(self._lexemes) >= _CACHE_LIMIT:
                self._lexemes.clear()
            if len(raw) <= _LONGEST_TERM:
                self._lexemes[raw] = known
        return known

    def _analyse(self, raw: str) -> _Lexeme:
        first = raw[0]
        if first in "([":
            return _lexeme(self._shape(re.findall(r"\d+", raw), comma="," in raw))
        if first.isdigit():
            return _lexeme(self._number(raw))
        if _NO_SPACES_CHARACTER.match(first):
            # Not made distinct: a run may be a whole sentence, and how often a bigram occurs in it counts.
            grams = tuple(_bigrams(raw))
            return _Lexeme(grams, (self.weights.part,) * len(grams), prose=False)
        if len(raw) <= _LONGEST_TERM:
            if _PLAIN.fullmatch(raw):
                return _lexeme(self._word(raw.casefold(), self.weights.whole), prose=True)
            if _ACRONYMS.fullmatch(raw):
                return _lexeme(
                    ((raw.casefold(), self.weights.part), (raw[:-1].casefold(), self.weights.part)), prose=True
                )
        return self._identifier(raw)

    def _shape(self, numbers: list[str], *, comma: bool) -> Iterator[tuple[str, int]]:
        if len(numbers) > 1 or comma:
            yield "(" + ",".join(numbers) + ("," if len(numbers) == 1 else "") + ")", self.weights.whole
        for number in numbers:
            yield number, self.weights.number

    def _number(self, raw: str) -> Iterator[tuple[str, int]]:
        times = _TIMES_SHAPE.fullmatch(raw)
        if times is not None:
            yield from self._shape(times[1].split("x"), comma=True)
            if times[2]:
                yield times[2].casefold(), self.weights.whole
        elif len(raw) <= _LONGEST_TERM:
            yield raw.casefold(), self.weights.number

    def _identifier(self, raw: str) -> _Lexeme:
        names = raw.split(".")
        terms: list[tuple[str, int]] = [(raw.casefold(), self.weights.whole)]
        if len(names) > 2:
            # `pltpu.MemorySpace.VMEM` is also written `MemorySpace.VMEM`.
            terms.append((".".join(names[-2:]).casefold(), self.weights.whole))
        terms += self._name(names[-1], self.weights.whole)
        # Short owners are aliases (`pl`, `jnp`, `np`, `x`), longer ones are objects and classes that have documents.
        for name in names[:-1][:_MOST_PARTS]:
            if len(name) > 3:
                terms += self._name(name, self.weights.part)
        return _lexeme((term, weight) for term, weight in terms if len(term) <= _LONGEST_TERM)

    def _name(self, name: str, weight: int) -> Iterator[tuple[str, int]]:
        """Yield a name without dots, whole and in parts; a name with one part is a word."""
        parts = list(_parts(name))
        folded = name.casefold()
        if parts == [folded]:
            yield from self._word(folded, weight)
            return
        yield folded, weight
        for part in parts:
            if part.isdigit():
                yield part, self.weights.number
            elif part != folded:
                yield from self._word(part, min(weight, self.weights.part))

    def _word(self, word: str, weight: int) -> Iterator[tuple[str, int]]:
        """Yield a word and its stem; where they differ they share the weight, so that no word counts for two."""
        stem = self._stem(word)
        if stem == word:
            yield word, weight
        else:
            yield word, weight - weight // 2
            yield stem, max(1, weight // 2)

    def _stem(self, word: str) -> str:
        if _STEMMABLE.fullmatch(word) is None:
            return word
        if self._stem_word is None:
            # Imported on first use: opening an index and showing a document need no stemmer.
            from snowballstemmer.english_stemmer import EnglishStemmer

            self._stem_word = EnglishStemmer().stemWord
        # The stemmer keeps the word it works on in itself: one thread at a time.
        with _stemming:
            return self._stem_word(word)

    def _phrases(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield neighbouring content words joined by a space, a form that no other term has.

        Pairs, not longer runs: messages name sizes and arguments between fixed words, and each of those breaks two
        pairs but three triples. Numbers, shapes and stop words are skipped over, so "divisible by 8 and 128
        respectively" still gives "divisible respectively".
        """
        for text in texts:
            before = ""
            for raw in _LEXEME.findall(text):
                if raw[0].isdigit() or raw[0] in "([" or len(raw) > _LONGEST_TERM // 2:
                    continue
                word = raw.casefold()
                if word in STOP_WORDS or (len(word) == 1 and word.isascii()):
                    continue
                if before:
                    yield f"{before} {word}"
                before = word


def _lexeme(terms: Iterable[tuple[str, int]], *, prose: bool = False) -> _Lexeme:
    best: dict[str, int] = {}
    for term, weight in terms:
        if term:
            best[term] = max(weight, best.get(term, 0))
    return _Lexeme(tuple(best), tuple(best.values()), prose)


def _normalised_lines(text: str) -> list[str]:
    """Return the lines of a text after NFKC, with spaces around runs of scripts that are written without them."""
    if not text.isascii():
        # Ordering combining marks is quadratic in their number, so text is normalised a bounded slice at a time.
        text = "".join(unicodedata.normalize("NFKC", part) for part in _SLICE.findall(text))
        text = _NO_SPACES_RUN.sub(r" \g<0> ", text)
    return text.splitlines()


def _error_parts(line: str) -> list[str]:
    """Return what a line quotes of an error message: from its mark on, and code spans of several words."""
    mark = _ERROR_MARK.search(line)
    if mark is not None:
        return [line[mark.end() :]]
    if "`" not in line:
        return []
    return [span for span in _QUOTED.findall(line) if span.count(" ") >= 2]


def _parts(name: str) -> Iterator[str]:
    """Yield the folded parts of a name: between underscores, at changes of case, between letters and digits."""
    count = 0
    for piece in name.split("_"):
        if not piece:
            continue
        split = _PIECE.split(piece) if len(piece) <= _LONGEST_TERM else ()
        for part in split if len(split) > 1 else (piece,):
            # What a digit cuts off is mostly a single letter or digit (`v6e`, `int8`, `x1`): no topic in it.
            if len(split) > 1 and len(part) == 1:
                continue
            if len(part) <= _LONGEST_TERM:
                yield part.casefold()
            count += 1
            if count == _MOST_PARTS:
                return


def _bigrams(run: str) -> Iterator[str]:
    run = run.casefold()
    if len(run) == 1:
        yield run
    for i in range(len(run) - 1):
        yield run[i : i + 2]


def merge_weights(terms: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the union of weighted terms; a term in several keeps its largest weight."""
    merged: dict[str, int] = {}
    for some in terms:
        for term, weight in some.items():
            if merged.get(term, 0) < weight:
                merged[term] = weight
    return merged
