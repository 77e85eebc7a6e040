"""Loading layered corpora: folders of Markdown and Python examples become documents."""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path, PurePosixPath

from ragctx.corpus import frontmatter
from ragctx.corpus.document import KIND_FOLDERS, Document, Kind
from ragctx.corpus.files import MAX_FILE_BYTES, FoundFile, Layer, kind_folder, list_files
from ragctx.corpus.frontmatter import Entry, FrontMatter, Split
from ragctx.corpus.inert import inert, one_line
from ragctx.corpus.markdown import first_heading
from ragctx.errors import RagctxError
from ragctx.files import decode

_SYMBOL = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
# Keys that other tools' front matter has as well say nothing about whose block it is.
_SHARED_KEYS = frozenset({"title", "tags", "source"})
_MOVE = f"move it into one of: {', '.join(f'{folder}/' for folder in KIND_FOLDERS)}"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a corpus was loaded from.

    Attributes:
        layer: Its layer.
        name: Path relative to the layer's folder, with `/`.
        size: Bytes.
        mtime_ns: When it was last changed, as the file system said while loading.
        digest: Of its content.
    """

    layer: str
    name: str
    size: int
    mtime_ns: int
    digest: str


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents loaded from layers.

    Attributes:
        documents: In order of their ids; of equal ids the highest layer's.
        notes: What was replaced, left out or ignored, one line each.
        digests: By layer: a digest over its files' relative names and contents.
        files: The files they came from, by layer and name.
    """

    documents: tuple[Document, ...]
    notes: tuple[str, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    files: tuple[SourceFile, ...] = ()


def load_corpus(layers: Iterable[Layer]) -> Corpus:
    """Load layers, lowest first: a document of a higher layer replaces the one of the same id below it, with a note.

    Raises:
        RagctxError: If a folder is missing or unreadable, a file is not UTF-8 or its front matter is wrong, two files
            of one layer give the same id, two layers have the same name, or there is no document at all.
    """
    layers = tuple(layers)
    documents: dict[str, Document] = {}
    notes: list[str] = []
    files: list[SourceFile] = []
    digests: dict[str, str] = {}
    for layer in layers:
        if layer.name in digests:
            raise RagctxError(f"two corpus layers are called '{layer.name}'", remedy="give each a name of its own")
        loading = _LayerLoading(layer)
        loading.run()
        for document in loading.documents.values():
            below = documents.get(document.id)
            if below is not None:
                notes.append(f"{document.id} of layer '{below.layer}' replaced by layer '{layer.name}'")
            documents[document.id] = document
        notes += loading.notes
        files += loading.files
        digests[layer.name] = layer_digest(loading.files)
    if not documents:
        where = ", ".join(str(layer.folder) for layer in layers) or None
        raise RagctxError(
            "the corpus holds no documents", where=where, remedy="name a folder with Markdown files in it"
        )
    return Corpus(tuple(documents[key] for key in sorted(documents)), tuple(notes), digests, tuple(files))


def layer_digest(files: Iterable[SourceFile]) -> str:
    """Return the digest of a layer: over relative names and contents, so the same wherever and whenever it lies."""
    total = hashlib.blake2b(digest_size=16)
    for file in sorted(files, key=lambda file: file.name):
        total.update(f"{file.name}\0{file.digest}\n".encode())
    return total.hexdigest()


def content_digest(raw: bytes) -> str:
    """Return the digest of one file's content."""
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class _Text:
    """A text taken apart: what its front matter or its first lines say, and what is left."""

    matter: FrontMatter
    body: str
    ours: bool


class _LayerLoading:
    """Loads the files of one layer, one at a time."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self.documents: dict[str, Document] = {}
        self.notes: list[str] = []
        self.files: list[SourceFile] = []
        self._plain: set[str] = set()
        self._ignored: dict[str, list[str]] = {}

    def run(self) -> None:
        """Load every file, files in kind folders first, so that only a file outside one ever gives way."""
        listing = list_files(self._layer)
        self.notes += [self._note(note) for note in listing.notes]
        for file in sorted(listing.files, key=lambda file: (kind_folder(file.name) is None, file.name)):
            self._load(file)
        for key, names in sorted(self._ignored.items()):
            near = None if frontmatter.is_key(key) else frontmatter.near_key(key)
            meant = f"; did you mean '{near}'" if near else ""
            others = f" and {len(names) - 1} more" if len(names) > 1 else ""
            self.notes.append(self._note(f"{names[0]}{others}: ignored the foreign key '{key}'{meant}"))
        if not self.files:
            self.notes.append(self._note("holds no documents"))

    def _load(self, file: FoundFile) -> None:
        where = str(Path(self._layer.folder, file.name))
        if self._layer.strict and kind_folder(file.name) is None:
            if file.name == "README.md":
                return
            raise RagctxError("a document outside the kind folders", where=where, remedy=_MOVE)
        raw = self._raw(file, where)
        if raw is None:
            return
        content = inert(decode(raw, where=where, what="document"))
        python = file.name.lower().endswith(".py")
        text = self._python(file, content, where) if python else self._markdown(file, content, where)
        self.files.append(SourceFile(self._layer.name, file.name, file.size, file.mtime_ns, content_digest(raw)))
        if not text.body.strip():
            if self._layer.strict:
                raise RagctxError("the document has no text", where=where, remedy="write it or delete the file")
            self.notes.append(self._note(f"{file.name}: empty, left out"))
            return
        self._add(self._document(file, text, "python" if python else "markdown", where), file, text)

    def _raw(self, file: FoundFile, where: str) -> bytes | None:
        """Return the file's bytes, or None if it is left out with a note."""
        said = None
        if file.size > MAX_FILE_BYTES:
            said = f"{file.size:,} bytes, more than a document's {MAX_FILE_BYTES:,}"
        else:
            try:
                raw = file.path.read_bytes()
            except OSError as error:
                raise RagctxError(f"cannot read the document: {error.strerror or error}", where=where) from None
            if b"\0" not in raw:
                return raw
            said = "binary (or UTF-16), not UTF-8 text"
        if self._layer.strict:
            raise RagctxError(said, where=where, remedy="take it out of the corpus")
        self.notes.append(self._note(f"{file.name}: {said}, left out"))
        return None

    def _markdown(self, file: FoundFile, content: str, where: str) -> _Text:
        split = frontmatter.split_markdown(content)
        # A `---` with a blank line under it, or with no second one, is a thematic break in anyone's Markdown.
        is_break = not split.closed or (split.block is not None and not split.block.split("\n")[0].strip())
        if not self._layer.strict and (split.block is None or is_break):
            split = Split(None, content)
        heading = first_heading(split.body)
        return self._text(file, split, heading, where)

    def _python(self, file: FoundFile, content: str, where: str) -> _Text:
        try:
            split = frontmatter.split_python(content, where=where)
        except RagctxError as error:
            if self._layer.strict:
                raise
            self.notes.append(self._note(f"{file.name}: {error.problem}; kept as text"))
            split = Split(None, content)
        if not split.closed and not self._layer.strict:
            split = Split(None, content)
        heading = _docstring_line(split.body) if split.block is None else ""
        return self._text(file, split, heading, where)

    def _text(self, file: FoundFile, split: Split, heading: str, where: str) -> _Text:
        """Return what a text says of itself, by its front matter if it is ours, else by its heading."""
        fallback = one_line(heading) or one_line(PurePosixPath(file.name).stem)
        if split.block is None:
            if self._layer.strict:
                said = "has no front matter" if split.closed else "front matter is not closed"
                raise RagctxError(said, where=f"{where}:{split.line}", remedy="put it between two '---' lines")
            return _Text(FrontMatter(fallback), split.body, ours=False)
        try:
            entries = frontmatter.parse(split.block, line=split.line, where=where)
        except RagctxError as error:
            if not self._layer.strict and error.problem == frontmatter.NOT_A_MAPPING:
                return _Text(FrontMatter(fallback), split.body, ours=False)
            raise
        if self._layer.strict or _is_ours(entries, in_kind_folder=kind_folder(file.name) is not None):
            title = None if self._layer.strict else fallback
            matter = frontmatter.read(entries, where=where, first_line=split.line - 1, title=title)
            return _Text(matter, split.body, ours=True)
        return self._foreign(file, entries, split.body, fallback)

    def _foreign(self, file: FoundFile, entries: Mapping[str, Entry], body: str, fallback: str) -> _Text:
        """Take what is usable from another tool's front matter: title or name, description, tags."""
        for key in entries.keys() - {"title", "name", "description", "tags"}:
            self._ignored.setdefault(key, []).append(file.name)
        title = frontmatter.text_of(entries.get("title")) or frontmatter.text_of(entries.get("name")) or fallback
        description = frontmatter.text_of(entries.get("description"))
        if description and description not in " ".join(body.split()):
            body = f"{description}\n\n{body}"
        return _Text(FrontMatter(title, tags=frontmatter.words_of(entries.get("tags"))), body, ours=False)

    def _document(self, file: FoundFile, text: _Text, language: str, where: str) -> Document:
        folder = kind_folder(file.name)
        kind = Kind.API if folder is None else KIND_FOLDERS[folder]
        relative = PurePosixPath(file.name if folder is None else file.name.removeprefix(f"{folder}/"))
        # with_suffix would stop at the last dot of `pl.BlockSpec`; the name of a symbol keeps all of its own.
        slug = one_line(str(relative.with_name(relative.name[: -len(relative.suffix)])))
        values = {item.name: getattr(text.matter, item.name) for item in fields(FrontMatter)}
        if folder == "api" and not values["symbols"] and _SYMBOL.fullmatch(slug):
            values["symbols"] = (slug,)
        if text.matter.raises and not file.path.with_name(text.matter.raises).is_file():
            raise RagctxError(f"key 'raises': no file '{text.matter.raises}' beside it", where=where)
        return Document(
            id=f"{kind}/{slug}",
            kind=kind,
            body=text.body.rstrip() + "\n",
            language=language,
            layer=self._layer.name,
            file=file.name,
            **values,
        )

    def _add(self, document: Document, file: FoundFile, text: _Text) -> None:
        other = self.documents.get(document.id)
        if other is not None:
            if text.ours or self._layer.strict or kind_folder(file.name) is not None:
                raise RagctxError(
                    f"the id '{document.id}' is also that of {other.file}",
                    where=str(Path(self._layer.folder, file.name)),
                    remedy="rename one of the two",
                )
            # index.md beside api/index.md is an everyday tree: the plain file keeps its suffix in its id.
            taken, document = document.id, replace(document, id=f"{document.kind}/{one_line(file.name)}")
            self.notes.append(self._note(f"{file.name}: its id is {document.id}, since {other.file} is {taken}"))
        self.documents[document.id] = document

    def _note(self, text: str) -> str:
        return one_line(f"layer '{self._layer.name}': {text}")


def _is_ours(entries: Mapping[str, Entry], *, in_kind_folder: bool) -> bool:
    """Return whether a block of a plain tree is to be read strictly.

    A key that only we have makes it ours. In a kind folder so does having no foreign key, or one that is nearly ours:
    a misspelt `tag` must not pass silently there. Elsewhere one foreign key makes the block foreign.
    """
    unknown = [key for key in entries if not frontmatter.is_key(key)]
    own = any(frontmatter.is_key(key) and key not in _SHARED_KEYS for key in entries)
    if not in_kind_folder:
        return own and not unknown
    return own or not unknown or any(frontmatter.near_key(key) for key in unknown)


def _docstring_line(source: str) -> str:
    """Return the first line of the module's docstring, or ""."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            docstring = ast.get_docstring(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return (docstring or "").strip().split("\n")[0].rstrip(".")
