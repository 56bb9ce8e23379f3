"""A source into a logbook: it is kept, and its entries are written, those that are new. Its numbers are reported, not
measured here."""

from __future__ import annotations

import contextlib
import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs

from logbook_agent.entries.header import StartRequest, start
from logbook_agent.entries.new_entry import checked_label
from logbook_agent.imports.document import Document, Quoted, ReportedEntry, SourceSpan, lines_of
from logbook_agent.imports.formats import document_of, is_newest_first
from logbook_agent.imports.sections import label_of
from logbook_agent.model.code import Code
from logbook_agent.model.entry import Entry, Field, Imported, format_id, id_number
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import HeaderParts
from logbook_agent.model.run import Env, Run
from logbook_agent.model.worker_report import Exit, noted, withheld
from logbook_agent.pages.views import changing
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace, prefix_of
from logbook_agent.text.markdown import clean, cut_line
from logbook_agent.text.shell_words import shell_syntax, split_env_words

IMPORTS = "imports"
_DIGITS = 16
_TITLE = 120
# The most characters of a text between entries.
_MOST = 2**17


class Source(Struct, frozen=True, kw_only=True):
    """A source as it is kept: its name, its bytes, and its text. `is_changed`: secrets were taken out."""

    name: str
    data: bytes
    text: str
    form: str
    is_changed: bool = False

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


class TakenEntry(Struct, frozen=True, kw_only=True):
    """A span as an entry: its `id` (None: it is not written yet), and the earlier entry that it `supersedes`."""

    span: SourceSpan
    entry: ReportedEntry
    id: str | None = None
    supersedes: str | None = None


class ImportResult(Struct, frozen=True, kw_only=True):
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
    document = document_of(source.form, source.text, columns, declared=declared)
    lines = lines_of(source.text)
    there = [book.entry(entry_id) for entry_id in book.entry_ids()] if book is not None else []
    had = Counter(one.sha256 for entry in there for one in entry.imported)
    fresh = []
    for span in document.spans:  # what the source has more often than the logbook is new
        digest = _digest(span.text(lines))
        had[digest] -= 1
        fresh += [span] if had[digest] < 0 else []
    entries = [TakenEntry(span=span, entry=span.entry) for span in fresh if span.entry is not None]
    found = ImportResult(
        book=book,
        source=source,
        document=document,
        entries=tuple(entries[::-1] if _is_newest_first(document) else entries),
        texts=tuple(span for span in fresh if span.entry is None and span.text(lines).strip()),
        known=len(document.spans) - len(fresh),
    )
    if dry_run or not (found.entries or found.texts):
        return found
    if book is None:
        taken = {prefix_of(one) for one in workspace.books()}
        stated = HeaderParts(metrics=document.metrics)
        prefix = given.prefix or (None if document.prefix in taken else document.prefix)
        book = start(
            workspace, structs.replace(given, prefix=prefix, title=document.title, goal=document.goal, stated=stated)
        )
    # The source is still there: what a power cut takes is imported again.
    book.files = structs.replace(book.files, is_durable=False)
    with changing(workspace, book):
        return _written(workspace, book, found, lines, there)


def _digest(text: str) -> str:
    return hashlib.sha256("\n".join(line.rstrip() for line in text.strip().split("\n")).encode()).hexdigest()[:_DIGITS]


def _is_newest_first(document: Document) -> bool:
    """Whether the times of the entries fall, or, without times, the numbers at the end of their names."""
    entries = [entry for _, entry in document.entries]
    times = [entry.opened for entry in entries if entry.opened is not None]
    numbers = [int(digits) for entry in entries if (digits := re.sub(r"\D", "", entry.name[-4:]))]
    return is_newest_first(times) if times else is_newest_first(numbers)


# -- what is written -----------------------------------------------------------------------------------------


def _written(
    workspace: Workspace, book: Book, found: ImportResult, lines: Sequence[str], there: Sequence[Entry]
) -> ImportResult:
    """Write the source, the entries and the note beside the entries that are `there`. The runs of an entry come before
    it: the next import takes an entry that is there for complete."""
    kept = _kept_name(book, found.source)
    place = book.folder / IMPORTS / kept
    book.files.make(place.parent)
    book.files.write(place, found.source.data)
    # What has an ID or a title that the source had before was changed since.
    is_log = found.source.form == "markdown"
    earlier = {key: e.id for e in there if is_log and e.imported and e.kind != "note" for key in (e.title, e.id)}
    ids: list[str] = []
    for one in found.entries:
        ids.append(_new_id(book, one.entry.name, ids[-1] if ids else ""))
    entries = []
    for one, entry_id in zip(found.entries, ids, strict=True):
        entry = _entry_of(workspace, found.source.name, one.entry, entry_id, _imported(kept, one.span, lines))
        before = earlier.get(one.entry.name) or earlier.get(entry.title)
        named = [n.text for n in found.document.named if one.span.first <= n.line <= one.span.last]
        for run in _runs(book, entry_id, one.entry, found.source.name, named):
            book.write_run(run)
        book.write_entry(structs.replace(entry, supersedes=before))
        entries.append(structs.replace(one, id=entry_id, supersedes=before))
    note = book.write_entry(_note(workspace, book, found, kept, lines))
    return structs.replace(found, book=book, entries=tuple(entries), note=note.id, place=place)


def _kept_name(book: Book, source: Source) -> str:
    """What the source is called below the logbook; another version of it has a digest in its name."""
    place = book.folder / IMPORTS / source.name
    if not book.files.has(place) or book.files.read(place, limit=2**28) == source.data:
        return source.name
    return f"{place.stem}-{source.sha256[:8]}{place.suffix}"


def _imported(kept: str, span: SourceSpan, lines: Sequence[str]) -> Imported:
    return Imported(source=kept, lines=(span.first, span.last), sha256=_digest(span.text(lines)))


def _new_id(book: Book, name: str, last: str) -> str:
    """The ID that the source uses, where it is one of this logbook and free; else the one after the `last`, or the
    next that is free."""
    number = id_number(last, book.header.prefix)
    wanted = [name] if id_number(name, book.header.prefix) is not None and not book.has_entry(name) else []
    wanted += [format_id(book.header.prefix, number + 1)] if number is not None else []
    free = next((one for one in wanted if book.reservations.claim(one)), None)
    new = free or book.reservations.reserve(book.names.ids)
    book.name_entry(new)
    return new


def _entry_of(workspace: Workspace, source: str, one: ReportedEntry, entry_id: str, at: Imported) -> Entry:
    title = one.title if one.name in ("", entry_id) or one.title.startswith(one.name) else f"{one.name}: {one.title}"
    where = f"{IMPORTS}/{at.source}, {SourceSpan(first=at.lines[0], last=at.lines[1]).place}"
    fields = (*one.fields, ("Source", f"{where}: {one.heading}" if one.heading else where))
    return Entry(
        id=entry_id,
        title=cut_line(title, _TITLE),
        opened=one.opened or workspace.stamp(),
        confidence=one.confidence,
        confidence_reason=f"as {source} states" if one.confidence is not None else None,
        kept=one.kept,
        imported=(at,),
        fields=tuple(Field(label=label, text=clean(text)) for label, text in fields),
    )


def _runs(book: Book, entry_id: str, one: ReportedEntry, source: str, named: Sequence[str]) -> list[Run]:
    """The tables of an entry as runs, and the commands of which it has no table. Nothing says where or how they ran."""
    commands = [command for command in one.commands if not command.is_planned]
    alone = commands[0] if len(commands) == 1 and one.tables else None
    parts = [(table.label, table.rows, alone) for table in one.tables]
    parts += [(command.label, (), command) for command in commands if command is not alone]
    runs = []
    for label, rows, command in parts:
        number = book.new_run(entry_id)
        argv, is_shell, env = _quoted(command) if command is not None else ((), False, Env())
        run = Run(
            entry=entry_id,
            run=number,
            name=book.run_name(entry_id, number),
            label=label,
            argv=argv,
            shell=is_shell,
            env=env,
            code=Code(commit=one.commit) if one.commit is not None else None,
            started=one.opened or "",
            exit=Exit(reported=True),
            rows=rows,
            problems=(*withheld(f"reported by {source}, not measured here"), *noted(*named)),
        )
        runs.append(run)
    return runs


def _quoted(command: Quoted) -> tuple[tuple[str, ...], bool, Env]:
    """A command as a run has it: its words, or a script where it is more than words, and its variables."""
    words: list[str] = []
    if not shell_syntax(command.text) and "\n" not in command.text:
        with contextlib.suppress(ValueError):  # a quote is open
            words = shlex.split(command.text)
    if not words:
        return (command.text,), True, Env(relevant=command.env)
    declared, argv = split_env_words(words)
    passed = {name: value for name, value in command.env.items() if name not in declared}
    return argv, False, Env(declared=declared, relevant=passed)


def _note(workspace: Workspace, book: Book, found: ImportResult, kept: str, lines: Sequence[str]) -> Entry:
    """The entry that tells about the import, and holds the texts between the entries."""
    source, named = found.source, found.document.named
    changed = "; secrets were taken out of it" if source.is_changed else ""
    fields = [("Source", f"{IMPORTS}/{kept}, SHA-256 {source.sha256}{changed}")]
    fields += [("Problems", "\n".join(f"- {one}" for one in named))] if named else []
    for span in found.texts:
        text = span.text(lines)
        rest = f"\n\nThe rest stands in {IMPORTS}/{kept}." if len(text) > _MOST else ""
        fields.append((_label(text), text[:_MOST] + rest))
    whole = Imported(source=kept, lines=(1, len(lines)), sha256=source.sha256)
    return Entry(
        id=book.reservations.reserve(book.names.ids),
        title=cut_line(f"Imported {source.name}", _TITLE),
        opened=workspace.stamp(),
        kind="note",
        imported=(whole, *(_imported(kept, span, lines) for span in found.texts)),
        fields=tuple(Field(label=label, text=clean(text)) for label, text in fields),
    )


def _label(text: str) -> str:
    """The first heading of a text, where it can be a label."""
    heading = re.search(r"(?m)^#{1,6}[ \t]+(.*\S)", text)
    try:
        return label_of(heading[1]) or checked_label(cut_line(heading[1], 60)) if heading is not None else "Text"
    except UsageError:
        return "Text"
