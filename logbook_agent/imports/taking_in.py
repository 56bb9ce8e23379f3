"""A source into a logbook: it is kept, and its entries are written, those that are new. Its numbers are reported, not
measured here."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from logbook_agent.entries.drafts import checked_label
from logbook_agent.entries.start import StartRequest, start
from logbook_agent.imports.document import Document, Named, Quoted, ReportedEntry, SourceSpan, lines_of, text_of
from logbook_agent.imports.formats import document_of
from logbook_agent.imports.order import is_newest_first
from logbook_agent.imports.sections import label_of, words_of
from logbook_agent.model.code import Code
from logbook_agent.model.entry import NEGATIVE_RESULT, Entry, Field, Imported, id_number
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import HeaderParts
from logbook_agent.model.run import Env, Exit, Run, noted, withheld
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.root import prefix_of
from logbook_agent.store.workspace import Workspace
from logbook_agent.text.markdown import clean, cut_line
from logbook_agent.text.shell_words import shell_syntax, split_env_words

IMPORTS = "imports"
_DIGITS = 16
_TITLE = 120
# The most characters of a text between entries.
_MOST = 2**17


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source as it is kept: its name, its bytes, and its text. `is_changed`: secrets were taken out."""

    name: str
    data: bytes
    text: str
    form: str
    is_changed: bool = False

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenEntry:
    """A span as an entry: its `id` (None: it is not written yet), and the earlier entry that it `supersedes`."""

    span: SourceSpan
    entry: ReportedEntry
    id: str | None = None
    supersedes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """What an import made, or would make, of a source: new entries, texts between them, and how many spans the logbook
    had. `note` is the entry that tells about the import, `place` the kept source. `book` is None where it would be
    started."""

    book: Book | None
    source: Source
    document: Document
    entries: tuple[TakenEntry, ...]
    texts: tuple[SourceSpan, ...]
    known: int
    note: str | None = None
    place: Path | None = None


def take_in(
    workspace: Workspace,
    source: Source,
    columns: Sequence[str],
    book: Book | None,
    given: StartRequest,
    *,
    dry_run: bool,
) -> ImportResult:
    """Take a source into a logbook; without one, it is started as `given`, and by what the source says."""
    declared = {m.name: m for m in book.header.metrics} if book is not None else {}
    document = document_of(source.form, source.text, columns=columns, declared=declared)
    lines = lines_of(source.text)
    had = _known(book) if book is not None else Counter[str]()
    fresh = [span for span in document.spans if not _is_known(text_of(lines, span), had)]
    entries = _in_order([TakenEntry(span=s, entry=s.entry) for s in fresh if s.entry is not None], document)
    texts = tuple(span for span in fresh if span.entry is None and text_of(lines, span).strip())
    found = ImportResult(
        book=book,
        source=source,
        document=document,
        entries=tuple(entries),
        texts=texts,
        known=len(document.spans) - len(fresh),
    )
    if dry_run or not (entries or texts):
        return found
    if book is None:
        taken = {prefix_of(one) for one in workspace.books()}
        book = start(workspace, _started(given, document, None if document.prefix in taken else document.prefix))
    book.durable = False  # the source is still there: what a power cut takes is imported again
    with changing(workspace, book):
        return _written(workspace, book, found, lines)


def _is_known(text: str, had: Counter[str]) -> bool:
    """Whether the logbook has this text of the source, as often as the source has it."""
    digest = _digest(text)
    had[digest] -= 1
    return had[digest] >= 0


def _digest(text: str) -> str:
    return hashlib.sha256("\n".join(line.rstrip() for line in text.strip().split("\n")).encode()).hexdigest()[:_DIGITS]


def _known(book: Book) -> Counter[str]:
    """The digests of all that was imported."""
    return Counter(one.sha256 for entry_id in book.entry_ids() for one in book.entry(entry_id).imported)


def _in_order(found: list[TakenEntry], document: Document) -> list[TakenEntry]:
    """The entries, the oldest first."""
    every = [entry for _, entry in document.entries]
    times = [entry.opened for entry in every if entry.opened is not None]
    numbers = [int(digits) for entry in every if (digits := "".join(filter(str.isdigit, entry.name[-4:])))]
    return found[::-1] if is_newest_first(times) or (not times and is_newest_first(numbers)) else found


def _started(given: StartRequest, document: Document, prefix: str | None) -> StartRequest:
    """The logbook to start, by what was given and by what the source says."""
    stated = HeaderParts(metrics=document.metrics)
    return dataclasses.replace(
        given, prefix=given.prefix or prefix, title=document.title, goal=document.goal, stated=stated
    )


# -- what is written -----------------------------------------------------------------------------------------


def _written(workspace: Workspace, book: Book, found: ImportResult, lines: Sequence[str]) -> ImportResult:
    kept = _kept_name(book, found.source)
    entries = [book.entry(entry_id) for entry_id in book.entry_ids()] if found.source.form == "markdown" else []
    # What has an ID or a title that the source had before was changed since.
    earlier = {key: e.id for e in entries if e.imported and e.kind != "note" for key in (e.title, e.id)}
    written = []
    for one in found.entries:
        at = _imported(kept, one.span, lines)
        entry = _entry_of(workspace, book, found.source.name, one.entry, at)
        if (before := earlier.get(one.entry.name) or earlier.get(entry.title)) is not None:
            entry = dataclasses.replace(entry, supersedes=before)
        entry = book.write_entry(entry)
        _write_runs(book, entry, one.entry, found.source.name, [n for n in found.document.named if _is_in(n, one.span)])
        written.append(dataclasses.replace(one, id=entry.id, supersedes=entry.supersedes))
    place = book.folder / IMPORTS / kept
    book.files.make(place.parent)
    book.files.write(place, found.source.data)
    note = book.write_entry(_note(workspace, book, found, kept, lines))
    return dataclasses.replace(found, book=book, entries=tuple(written), note=note.id, place=place)


def _is_in(named: Named, span: SourceSpan) -> bool:
    return span.first <= named.line <= span.last


def _kept_name(book: Book, source: Source) -> str:
    """What the source is called below the logbook; another version of it has a digest in its name."""
    place = book.folder / IMPORTS / source.name
    if not book.files.has(place) or book.files.read(place, limit=2**28) == source.data:
        return source.name
    return f"{place.stem}-{source.sha256[:8]}{place.suffix}"


def _imported(kept: str, span: SourceSpan, lines: Sequence[str]) -> Imported:
    return Imported(source=kept, lines=(span.first, span.last), sha256=_digest(text_of(lines, span)))


def _new_id(book: Book, name: str) -> str:
    """The ID that the source uses, where it is one of this logbook and free; else the next one."""
    is_own = id_number(name, book.header.prefix) is not None and not book.has_entry(name)
    return name if is_own and book.reservations.claim(name) else book.reservations.reserve(book.names.ids)


def _entry_of(workspace: Workspace, book: Book, source: str, one: ReportedEntry, at: Imported) -> Entry:
    entry_id = _new_id(book, one.name)
    title = one.title if one.name in ("", entry_id) or one.title.startswith(one.name) else f"{one.name}: {one.title}"
    where = f"{IMPORTS}/{at.source}, {SourceSpan(first=at.lines[0], last=at.lines[1]).place}"
    heading = f": {one.heading}" if one.heading else ""
    return Entry(
        id=entry_id,
        title=cut_line(title, _TITLE),
        opened=one.opened or workspace.stamp(),
        kind=one.kind,
        confidence=one.confidence,
        confidence_reason=f"as {source} states" if one.confidence is not None else None,
        kept=one.kept,
        imported=(at,),
        fields=tuple(
            Field(label=label, text=clean(text)) for label, text in (*one.fields, ("Source", f"{where}{heading}"))
        ),
    )


def _write_runs(book: Book, entry: Entry, one: ReportedEntry, source: str, named: Sequence[Named]) -> None:
    """The tables of an entry as runs, and the commands of which it has no table. Nothing says where or how they ran."""
    commands = [command for command in one.commands if not command.is_planned]
    alone = commands[0] if len(commands) == 1 and one.tables else None
    parts = [(table.label, table.rows, alone) for table in one.tables]
    parts += [(command.label, (), command) for command in commands if command is not alone]
    runs = []
    for label, rows, command in parts:
        number = book.new_run(entry.id)
        argv, is_shell, env = _quoted(command) if command is not None else ((), False, Env())
        runs.append(
            Run(
                entry=entry.id,
                run=number,
                name=book.run_name(entry.id, number),
                label=label,
                argv=argv,
                shell=is_shell,
                env=env,
                code=Code(commit=one.commit) if one.commit is not None else None,
                started=one.opened or "",
                exit=Exit(reported=True),
                rows=rows,
                problems=(*withheld(f"reported by {source}, not measured here"), *noted(*(n.text for n in named))),
            )
        )
    book.write_runs(runs)


def _quoted(command: Quoted) -> tuple[tuple[str, ...], bool, Env]:
    """A command as a run has it: its words, or a script, and its variables."""
    words = None if shell_syntax(command.text) or "\n" in command.text else words_of(command.text)
    if words is None:
        return (command.text,), True, Env(relevant=command.leading | command.env)
    return split_env_words(words)[1], False, Env(declared=command.leading, relevant=command.env)


def _note(workspace: Workspace, book: Book, found: ImportResult, kept: str, lines: Sequence[str]) -> Entry:
    """The entry that tells about the import, and holds the texts between the entries."""
    source = found.source
    fields = [
        (
            "Source",
            f"{IMPORTS}/{kept}, SHA-256 {source.sha256}"
            + ("; secrets were taken out of it" if source.is_changed else ""),
        )
    ]
    fields += (
        [("Problems", "\n".join(f"- {clean(str(one))}" for one in found.document.named))]
        if found.document.named
        else []
    )
    for span in found.texts:
        label = NEGATIVE_RESULT if label_of(span.label) == NEGATIVE_RESULT else _label(span.label)
        text = text_of(lines, span)
        fields.append(
            (label, text if len(text) <= _MOST else f"{text[:_MOST]}\n\nThe rest stands in {IMPORTS}/{kept}.")
        )
    whole = Imported(source=kept, lines=(1, len(lines)), sha256=source.sha256)
    return Entry(
        id=book.reservations.reserve(book.names.ids),
        title=cut_line(f"Imported {source.name}", _TITLE),
        opened=workspace.stamp(),
        kind="note",
        imported=(whole, *(_imported(kept, span, lines) for span in found.document.spans if span in found.texts)),
        fields=tuple(Field(label=label, text=clean(text)) for label, text in fields),
    )


def _label(text: str) -> str:
    try:
        return checked_label(cut_line(text, 60)) if text else "Text"
    except UsageError:
        return "Text"
