"""Which document leans on which: the names and terms each defines and mentions, and the edges between them.

A page rarely repeats what another page of the same documentation says: the object to create first, the unit, the
order of calls, the error code stand on pages of their own and are only mentioned. A query finds the page that talks
about the task; these edges find what that page needs to be usable. Everything is read from the text, so it works on
plain Markdown; front matter (`symbols`, `related`) only adds to it.

Definitions have a strength: the page whose title is a term is its home, more so than a page with a heading for it,
and that more so than one that has it in a table's first column or assigns it in a code block.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ragctx.corpus.document import Document, Kind
from ragctx.corpus.words import BUILTIN, COMMON, GENERIC

TITLE, HEADING, ENTRY = 1.0, 0.7, 0.5

_MENTION_LINK, _MENTION_NAME, _MENTION_PART, _MENTION_PHRASE, _MENTION_WORD = 1.0, 0.9, 0.7, 0.6, 0.4
_MAX_PHRASE_WORDS = 4
_MAX_HOMES = 4
_LEAST_WEIGHT = 0.05
_MAKER = "="
_MAKER_PAGES = 3

_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
# Bounded, so that a line of brackets that never close is not looked through from each of them to its end.
_LINK = re.compile(r"\[[^\]\n]{0,400}\]\(<?([^)\s>]{1,400})>?[^)]{0,400}\)|\[\[([^\]|\n]{1,400})")
_CODE_SPAN = re.compile(r"(?<!`)(`++)([^`\n]+?)\1(?!`)")
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_ERROR_CODE = re.compile(r"\b([A-Z]{1,6})(-?)(\d{2,6}|[xnX]{2,4})\b")
_CONSTANT = re.compile(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b")
_IMPORT = re.compile(r"^\s*(?:from\s+[\w.]+\s+import\s+(?P<names>.*)|import\s+.*)$")
_DEFINITION = re.compile(
    r"^\s*(?:(?:async\s+)?def|class|struct|enum|interface|type|func|fn|function|proc|macro|trait)\s+([^\W\d]\w*)"
    r"|^\s*([A-Z][A-Z0-9_]+)\s*(?::[^=\n]+)?=\s"
)
_SIGNATURE = re.compile(
    r"^[ \t]*([^\W\d][\w.]*)\((?:[^()\n]|\n(?=[ \t]|\))|\([^()]*\)){0,2000}\)[ \t]*->[ \t]*\"?([\w.]*)", re.MULTILINE
)
_ASSIGNED = re.compile(r"^\s*([a-z_]\w*)\s*=\s*(?:await\s+)?(?:\w+\.)*([a-z_]\w*)\(")
_WITH = re.compile(r"^\s*(?:async\s+)?with\s+(?:await\s+)?(?:\w+\.)*([a-z_]\w*)\(.*\)\s+as\s+([a-z_]\w*)")
_SAID_OF_TYPE = re.compile(
    r"\b(?:[Aa]n?|[Tt]he|[Ee]ach|[Ee]very) `([A-Z]\w+)`,? (?:is|has|holds|with|carries|contains)\b"
)
_BOLD_ENTRY = re.compile(r"^\s*(?:[-*+]|\d+[.)])?\s*(?:\*\*|__)(.{2,60}?)(?:\*\*|__)")
_LIST_ENTRY = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(`[^`\n]{2,60}`)")
_TABLE_ROW = re.compile(r"^\s*\|\s*([^|\n]{2,80}?)\s*\|")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(slots=True)
class Terms:
    """What one document defines and mentions.

    Attributes:
        defines: Term to the strength of its definition (0 to 1).
        mentions: Term to the strength of its mention (0 to 1).
        links: Documents linked to, as written.
        words: Stemmed prose words in order, for phrase look-up; sentence borders are empty strings.
        makes: Phrase of a type to the function of the page that returns it.
        assigned: Phrase of a variable and the function whose result its snippets put there.
        lists_errors: Whether a heading says that the page is on errors.
        is_home: Whether headings, signatures and the like define anything, or symbols alone do.
    """

    defines: dict[str, float] = field(default_factory=dict)
    mentions: dict[str, float] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    makes: dict[str, str] = field(default_factory=dict)
    assigned: set[tuple[str, str]] = field(default_factory=set)
    lists_errors: bool = False
    is_home: bool = True

    def define(self, term: str, strength: float) -> None:
        """Record a definition, keeping the strongest."""
        if self.is_home and len(term) > 1 and term not in BUILTIN:
            self.defines[term] = max(strength, self.defines.get(term, 0.0))

    def mention(self, term: str, strength: float) -> None:
        """Record a mention, keeping the strongest."""
        if len(term) > 1 and term not in BUILTIN:
            self.mentions[term] = max(strength, self.mentions.get(term, 0.0))


@dataclass(frozen=True, slots=True)
class Edge:
    """Document `source` leans on document `target` (positions in the given sequence), `weight` in (0, 1]."""

    source: int
    target: int
    weight: float
    term: str


def defined_terms(document: Document) -> tuple[str, ...]:
    """Return the names and terms a reader learns in `document`, sorted."""
    return tuple(sorted(read_terms(document).defines))


def mentioned_terms(document: Document) -> tuple[str, ...]:
    """Return the names that `document` uses (prose phrases are resolved against definitions later), sorted."""
    terms = read_terms(document)
    return tuple(sorted(set(terms.mentions) - set(terms.defines)))


def read_terms(document: Document) -> Terms:
    """Read everything `resolve` needs from one document, in one pass over its lines."""
    terms = Terms()
    for symbol in document.symbols:
        _define_name(terms, symbol, TITLE)
    # Rules, examples and hardware sheets use names; the page a name is at home on is an api document.
    terms.is_home = document.kind is Kind.API
    _read_heading(terms, document.title, TITLE)
    if document.file and terms.is_home:
        stem_name = posixpath.splitext(posixpath.basename(document.file))[0]
        _define_phrases(terms, re.sub(r"[-_.]+", " ", stem_name), HEADING)
    if document.language == "python":
        _read_code(terms, document.body)
        return terms
    fence, code, first_heading = "", [""], True
    for line in document.body.splitlines():
        marker = _FENCE.match(line)
        if fence:
            if marker and marker.group(1).startswith(fence):
                _read_code(terms, "\n".join(code))
                fence, code = "", [""]
            else:
                code.append(line)
        elif marker:
            fence = marker.group(1)
        elif heading := _HEADING.match(line):
            is_title = first_heading and len(heading.group(1)) == 1
            _read_heading(terms, heading.group(2), TITLE if is_title else HEADING)
            first_heading = False
        else:
            _read_prose_line(terms, line)
    if fence:
        _read_code(terms, "\n".join(code))
    return terms


def _read_heading(terms: Terms, text: str, strength: float) -> None:
    plain = text.replace("`", " ")
    for name in (*_names(plain), *_span_names(text)):
        _define_name(terms, name, strength)
    title_name = plain.strip().removesuffix("()")
    is_name = _NAME.fullmatch(title_name) is not None
    if strength == TITLE and is_name:
        _define_name(terms, title_name, strength)
    for match in _ERROR_CODE.finditer(plain):
        terms.define(match.group(0), strength)
    if _ERRORS_STEMS.intersection(_stems(plain)):
        terms.lists_errors = True
    if is_name and len(_stems(plain.replace("_", " "))) > 1:
        # The page on `strides_from_shape` is no home of "shape": only the whole name is its term.
        terms.define(_phrase_of(title_name.rpartition(".")[2]), strength)
    else:
        _define_phrases(terms, plain, strength)
    terms.words.extend(["", *_stems(plain), ""])


def _define_name(terms: Terms, name: str, strength: float) -> None:
    name = name.removesuffix("()")
    terms.define(name, strength)
    owner, _, last = name.rpartition(".")
    if owner:
        terms.define(last, strength * 0.9)
        if owner[:1].isupper():
            # Rows such as `Channel.FV1` make their page the home of `Channel`.
            terms.define(owner, min(strength, ENTRY))


def _define_phrases(terms: Terms, text: str, strength: float) -> None:
    """Define the content words of a heading: the whole phrase fully, pairs of its words less.

    A single word is a term where it is all that a title says ("Desks"); one word of a longer title is not.
    """
    content = [w for w in _stems(text) if w not in _GENERIC_STEMS]
    if len(content) == 1:
        if content[0] not in _COMMON_STEMS or strength == TITLE:
            terms.define("~" + content[0], strength * (0.6 if content[0] in _COMMON_STEMS else 1.0))
        return
    if 1 < len(content) <= _MAX_PHRASE_WORDS:
        terms.define("~" + " ".join(content), strength)
    for pair in zip(content, content[1:], strict=False):
        if not _COMMON_STEMS.issuperset(pair):
            terms.define("~" + " ".join(pair), strength * 0.7)
    if strength == TITLE:
        for word in content:
            if word not in _COMMON_STEMS:
                terms.define("~" + word, strength * 0.5)


def _read_code(terms: Terms, code: str) -> None:
    for match in _SIGNATURE.finditer(code):
        _define_name(terms, match.group(1), HEADING)
        made = match.group(2).rpartition(".")[2]
        if made[:1].isupper() and made not in BUILTIN:
            terms.makes[_phrase_of(made)] = match.group(1).rpartition(".")[2]
    # What an example defines for itself (`kernel`) is not the library's name of the same spelling.
    own = set() if terms.is_home else {found.group(1) for found in map(_DEFINITION.match, code.splitlines()) if found}
    for line in code.splitlines():
        if assigned := _ASSIGNED.match(line):
            terms.assigned.add((_phrase_of(assigned.group(1)), assigned.group(2)))
        elif opened := _WITH.match(line):
            terms.assigned.add((_phrase_of(opened.group(2)), opened.group(1)))
        definition = _DEFINITION.match(line)
        if definition:
            terms.define(definition.group(1) or definition.group(2), HEADING)
        imported = _IMPORT.match(line)
        if imported:
            # The module is where names come from, not something the page leans on.
            line = imported.group("names") or ""
        for name in _NAME.findall(line):
            if name not in own:
                _mention_name(terms, name)
        _read_error_codes(terms, line, is_entry=False)


def _read_prose_line(terms: Terms, line: str) -> None:
    for match in _LINK.finditer(line):
        terms.links.append(match.group(1) or match.group(2))
    entry = _BOLD_ENTRY.match(line) or _LIST_ENTRY.match(line) or _TABLE_ROW.match(line)
    if entry:
        label = entry.group(1)
        for name in _span_names(label) if "`" in label else _names(label):
            if not _is_parameter(name):
                _define_name(terms, name, ENTRY)
        if "`" not in label and len(_WORD.findall(label)) <= 3:
            _define_phrases(terms, label, ENTRY)
    for match in _SAID_OF_TYPE.finditer(line):
        terms.define(match.group(1), ENTRY)
    _read_error_codes(terms, line, is_entry=entry is not None)
    prose = _CODE_SPAN.sub(" ", line)
    for name in (*_span_names(line), *_names(prose)):
        _mention_name(terms, name)
    stems = _stems(prose)
    terms.words.extend(["", *stems, ""] if entry or not stems else stems)


def _read_error_codes(terms: Terms, line: str, *, is_entry: bool) -> None:
    """Read codes such as E1203 or LU-411, and mention their family, whose home is the page on errors."""
    for match in _ERROR_CODE.finditer(line):
        terms.mention(match.group(0), _MENTION_NAME)
        terms.mention(f"{match.group(1)}{match.group(2)}#", _MENTION_PHRASE)
        if is_entry:
            terms.define(match.group(0), ENTRY)


def _is_parameter(name: str) -> bool:
    """Return whether a name in a table's first column is a parameter or attribute of the page's own function."""
    return name.islower() and "." not in name


def _span_names(text: str) -> list[str]:
    return [name for span in _CODE_SPAN.finditer(text) for name in _NAME.findall(span.group(2))]


def _mention_name(terms: Terms, name: str) -> None:
    terms.mention(name, _MENTION_NAME)
    parts = name.split(".")
    for part in parts:
        if len(parts) > 1:
            terms.mention(part, _MENTION_PART)
        if part not in BUILTIN:
            # The page for the type `DayCode` is called "Day codes", that for the argument `desk` "Desks".
            terms.mention(_phrase_of(part), _MENTION_NAME if part[:1].isupper() else _MENTION_PART)


def _names(text: str) -> list[str]:
    """Return the words of prose that look like code: dotted, snake_case, camelCase, CONSTANTS."""
    found = [match.group(0) for match in _CONSTANT.finditer(text)]
    for word in _NAME.findall(text):
        parts = word.split(".")
        if any("_" in p.strip("_") or re.search(r"[a-z\d][A-Z]", p) for p in parts):
            found.append(word)
        elif len(parts) > 1 and all(len(p) > 1 for p in parts):
            found.append(word)
    return found


_stem_cache: dict[str, str] = {}
_stemmer: list[object] = []


def stem(word: str) -> str:
    """Return the English stem of a lower-case word, remembered."""
    known = _stem_cache.get(word)
    if known is None:
        if not _stemmer:
            import snowballstemmer

            _stemmer.append(snowballstemmer.stemmer("english"))
        known = _stem_cache[word] = str(_stemmer[0].stemWord(word))  # type: ignore[attr-defined]
    return known


def _stems(text: str) -> list[str]:
    return [stem(word.lower()) for word in _WORD.findall(text) if len(word) > 1]


_GENERIC_STEMS = frozenset(stem(word) for word in GENERIC) | frozenset("0123456789")
_COMMON_STEMS = frozenset(stem(word) for word in COMMON)
_ERRORS_STEMS = frozenset(("error", "except", "exit", "failur"))


def resolve(documents: Sequence[Document]) -> list[Edge]:
    """Return the edges between documents, sorted by source, then target.

    A mention counts towards the strongest definitions of its term outside the page itself, shared between them when
    there are several; a term that the page defines as strongly itself gives no edge. Where one page leans on another
    for several terms the weights combine as 1 - prod(1 - w); `term` is the one that weighs most. `related` and
    links to another document's file are edges of full weight.
    """
    read = [read_terms(document) for document in documents]
    homes = _homes(read)
    frequency = _mention_frequency(read, homes)
    by_place = _places(documents)
    edges: list[Edge] = []
    for source, (document, terms) in enumerate(zip(documents, read, strict=True)):
        weights: dict[int, tuple[float, float, str]] = {}
        for term, strength in _all_mentions(terms, homes):
            share = _specificity(frequency[term], len(documents)) if strength == _MENTION_WORD else 1.0
            for target, defined in _targets(term, homes[term], terms):
                if target != source:
                    _combine(weights, target, strength * defined * share, term)
        for target, link in _linked(document, terms, by_place):
            if target != source:
                _combine(weights, target, _MENTION_LINK, link)
        edges.extend(
            Edge(source, t, round(w, 4), term) for t, (w, _, term) in sorted(weights.items()) if w >= _LEAST_WEIGHT
        )
    return edges


def _combine(weights: dict[int, tuple[float, float, str]], target: int, weight: float, term: str) -> None:
    total, best, best_term = weights.get(target, (0.0, 0.0, term))
    if weight > best:
        best, best_term = weight, term
    weights[target] = (1.0 - (1.0 - total) * (1.0 - weight), best, best_term)


def _homes(read: Sequence[Terms]) -> dict[str, list[tuple[int, float]]]:
    """Return, for each defined term, the documents that define it most strongly, at most `_MAX_HOMES`."""
    candidates: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for position, terms in enumerate(read):
        for term, strength in terms.defines.items():
            candidates[term].append((position, strength))
        if terms.lists_errors and terms.is_home:
            for term in terms.mentions:
                if term.endswith("#"):
                    candidates[term].append((position, HEADING))
    homes = {}
    for term, places in candidates.items():
        best = max(strength for _, strength in places)
        top = [(p, s) for p, s in places if s >= best - 0.05]
        if len(top) <= _MAX_HOMES:
            homes[term] = top
    # `station.desk` makes its page a home of `desk`, but the page called "Desks" is where a desk is explained.
    for term in [t for t in homes if not t.startswith("~")]:
        titled = homes.get(_phrase_of(term))
        if titled is not None and titled[0][1] > homes[term][0][1]:
            homes[term] = titled
    _add_makers(read, homes)
    return homes


def _add_makers(read: Sequence[Terms], homes: dict[str, list[tuple[int, float]]]) -> None:
    """Add, for types and variables, the page on which one is made.

    A page whose function returns a `Deck` makes decks; of several, those count whose function most pages name. Where
    no signature says so, several pages whose snippets say `watch = open_watch(...)` do.
    """
    makers: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for position, terms in enumerate(read):
        for phrase, function in terms.makes.items() if terms.is_home else ():
            makers[_MAKER + phrase].append((position, function))
    named = Counter(name for terms in read for name in terms.mentions)
    for maker, places in makers.items():
        most = max(named[function] for _, function in places)
        top = [(position, TITLE) for position, function in places if named[function] == most]
        if len(top) <= _MAX_HOMES:
            homes[maker] = top
    counted = Counter(pair for terms in read for pair in terms.assigned)
    for (phrase, function), count in sorted(counted.items(), key=lambda item: (-item[1], item[0])):
        maker = _MAKER + phrase
        if count >= _MAKER_PAGES and maker not in homes and homes.get(function, [(0, 0.0)])[0][1] >= HEADING:
            homes[maker] = homes[function]


def _phrase_of(name: str) -> str:
    return "~" + " ".join(stem(word.lower()) for word in _CAMEL.findall(name))


def _all_mentions(terms: Terms, homes: dict[str, list[tuple[int, float]]]) -> Iterable[tuple[str, float]]:
    """Yield each mentioned term that has a home: names as read, prose phrases by looking up runs of words."""
    strengths = {term: strength for term, strength in terms.mentions.items() if term in homes}
    for term, strength in terms.mentions.items():
        # What takes a `session` needs the page on which a session is made.
        if _MAKER + term in homes:
            strengths[_MAKER + term] = strength
    for term in _phrases(terms.words, homes):
        is_title = " " in term or homes[term][0][1] == TITLE
        strengths[term] = max(strengths.get(term, 0.0), _MENTION_PHRASE if is_title else _MENTION_WORD)
    yield from sorted(strengths.items())


def _phrases(words: Sequence[str], homes: dict[str, list[tuple[int, float]]]) -> set[str]:
    found = set()
    content = [w for w in words if w == "" or w not in _GENERIC_STEMS]
    for start, word in enumerate(content):
        if word == "":
            continue
        phrase = "~" + word
        if phrase in homes:
            found.add(phrase)
        for following in content[start + 1 : start + _MAX_PHRASE_WORDS]:
            if following == "":
                break
            phrase = f"{phrase} {following}"
            if phrase in homes:
                found.add(phrase)
    return found


def _mention_frequency(read: Sequence[Terms], homes: dict[str, list[tuple[int, float]]]) -> dict[str, int]:
    frequency: defaultdict[str, int] = defaultdict(int)
    for terms in read:
        for term, _ in _all_mentions(terms, homes):
            frequency[term] += 1
    return frequency


def _specificity(frequency: int, documents: int) -> float:
    """Return how much a single word of prose tells that stands on `frequency` pages.

    A name mentioned on every page (the session object) is needed by every page, so names and phrases keep their
    weight however frequent they are; a prose word that stands on every page is just a word.
    """
    return max(0.0, 1.0 - frequency / (0.6 * documents)) if documents > 3 else 1.0


def _targets(term: str, homes: list[tuple[int, float]], terms: Terms) -> list[tuple[int, float]]:
    own = terms.defines.get(term, 0.0)
    if own >= homes[0][1] - 0.05:
        return []
    return [(target, strength / len(homes)) for target, strength in homes]


def _places(documents: Sequence[Document]) -> dict[tuple[str, str], int]:
    places = {(d.layer, d.file): i for i, d in enumerate(documents) if d.file}
    places.update({("", d.id): i for i, d in enumerate(documents)})
    return places


def _linked(document: Document, terms: Terms, places: dict[tuple[str, str], int]) -> list[tuple[int, str]]:
    found = [(places["", other], other) for other in document.related if ("", other) in places]
    folder = posixpath.dirname(document.file or "")
    for link in terms.links:
        path = link.split("#")[0]
        if not path or "://" in path:
            continue
        for place in (posixpath.normpath(posixpath.join(folder, path)), posixpath.normpath(path.lstrip("/"))):
            for name in (place, f"{place}.md"):
                if (document.layer, name) in places:
                    found.append((places[document.layer, name], path))
    return found
