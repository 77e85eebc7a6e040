"""Synonyms: groups of words and primitives that mean the same, read from YAML and kept in the index as JSON.

    groups:
      - name: attention
        words: [attention, mha, gqa]
        primitives: [dot_product_attention]

A query that holds one member of a group is searched for the others too, at a lower weight.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragctx.corpus.files import Layer
from ragctx.errors import RagctxError
from ragctx.files import read_text
from ragctx.index.tokenizer import Entry, Tokenizer

FILE = "synonyms.yaml"


@dataclass(frozen=True, slots=True)
class SynonymGroup:
    """Words and primitives that stand for one thing.

    Attributes:
        name: What the group is called; the key under which a higher layer replaces it.
        words: Words and phrases of prose or code.
        primitives: JAX primitives.
    """

    name: str
    words: tuple[str, ...] = ()
    primitives: tuple[str, ...] = ()


class Synonyms:
    """Expands query terms by groups.

    Args:
        groups: The groups.
        tokenizer: The tokenizer of the terms that will be expanded.
    """

    def __init__(self, groups: Iterable[SynonymGroup], tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._groups: list[tuple[Entry, ...]] = []
        self._groups_of_term: dict[str, list[int]] = {}
        for group in groups:
            entries = tuple(e for e in map(tokenizer.entry, (*group.words, *group.primitives)) if e.required)
            for term in dict.fromkeys(term for entry in entries for term in entry.required):
                self._groups_of_term.setdefault(term, []).append(len(self._groups))
            self._groups.append(entries)

    def expand(self, terms: Mapping[str, int]) -> dict[str, int]:
        """Return the terms with those of every group of which they hold a member.

        A member of several words counts as held when all its words are among the terms. What is added has the
        tokenizer's synonym weight; what was there keeps its own. Added terms are not expanded again.
        """
        expanded = dict(terms)
        for number in sorted({n for term in terms for n in self._groups_of_term.get(term, ())}):
            entries = self._groups[number]
            if any(all(term in terms for term in entry.required) for entry in entries):
                for entry in entries:
                    for term in entry.added:
                        expanded.setdefault(term, self._tokenizer.weights.synonym)
        return expanded


def load_synonyms(path: Path) -> tuple[SynonymGroup, ...]:
    """Return the groups of a synonym file.

    Raises:
        RagctxError: If it cannot be read or is not of the form above; the message names the entry.
    """
    import yaml

    text = read_text(path, what="synonym file")
    try:
        content = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or "cannot be parsed"
        raise RagctxError(f"malformed YAML: {problem}", where=f"{path}{line}", remedy="correct it") from None
    if content is None:
        return ()
    if not isinstance(content, dict) or set(content) != {"groups"} or not isinstance(content["groups"], list):
        raise RagctxError("not a synonym file", where=str(path), remedy="write one key, 'groups', with a list")
    groups = tuple(_group(entry, f"{path}: groups[{i}]") for i, entry in enumerate(content["groups"]))
    names = [group.name for group in groups]
    for name in names:
        if names.count(name) > 1:
            raise RagctxError(f"two groups are named '{name}'", where=str(path), remedy="merge or rename one")
    return groups


def _group(entry: object, where: str) -> SynonymGroup:
    remedy = "a group has a 'name' and lists 'words' and 'primitives'"
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise RagctxError("not a group", where=where, remedy=remedy)
    unknown = sorted(str(key) for key in set(entry) - {"name", "words", "primitives"})
    if unknown:
        raise RagctxError(f"unknown key '{unknown[0]}'", where=where, remedy=remedy)
    lists: dict[str, tuple[str, ...]] = {}
    for key in ("words", "primitives"):
        values = entry.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise RagctxError(f"'{key}' is not a list of strings", where=where, remedy="quote numbers and yes/no")
        lists[key] = tuple(values)
    if len(lists["words"]) + len(lists["primitives"]) < 2:
        raise RagctxError("a group needs two members to be of use", where=where, remedy=remedy)
    return SynonymGroup(entry["name"], lists["words"], lists["primitives"])


def synonyms_of(layers: Iterable[Layer]) -> tuple[SynonymGroup, ...]:
    """Return the groups of corpus layers, lowest first, from the `synonyms.yaml` of those that have one.

    Raises:
        RagctxError: If a file cannot be read or is not of the form above.
    """
    paths = [Path(layer.folder, FILE) for layer in layers]
    return layered([load_synonyms(path) for path in paths if path.is_file()])


def layered(layers: Iterable[Iterable[SynonymGroup]]) -> tuple[SynonymGroup, ...]:
    """Return the groups of several layers; a group of a higher (later) layer replaces its namesake."""
    merged: dict[str, SynonymGroup] = {}
    for layer in layers:
        merged.update((group.name, group) for group in layer)
    return tuple(merged[name] for name in sorted(merged))


def to_json(groups: Iterable[SynonymGroup]) -> bytes:
    """Return groups as an index stores them."""
    plain = [[group.name, list(group.words), list(group.primitives)] for group in groups]
    return json.dumps(plain, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def from_json(content: bytes) -> tuple[SynonymGroup, ...]:
    """Return the groups that `to_json` wrote.

    Raises:
        ValueError: If it did not write them.
    """
    try:
        plain: Any = json.loads(content)
        return tuple(SynonymGroup(name, tuple(words), tuple(primitives)) for name, words, primitives in plain)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None
