"""`logbook import`."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from logbook_agent.cli.options import Common, Text, argument, flag, option
from logbook_agent.entries.header import StartRequest
from logbook_agent.entries.stated import checked_topic
from logbook_agent.imports.formats import FORMATS, format_of
from logbook_agent.imports.taking_in import ImportResult, Source, TakenEntry, take_in
from logbook_agent.model.errors import NotFound, UsageError
from logbook_agent.store.workspace import Workspace, naming
from logbook_agent.text.phrases import bounded, counted, one_of

_MOST_BYTES = 2**26
_SHOWN = 20
_FORMATS = ", ".join(FORMATS)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def import_command(
    *,
    file: str = argument("FILE", "The log or table; - for standard input.", ...),
    form: Text = option("--as FORMAT", f"{_FORMATS}. [by its name, else by its text]"),
    prefix: Text = option("--prefix PREFIX", "Prefix of the IDs of a logbook that is started. [from the source]"),
    columns: Sequence[str] = option("--columns A,B,C", "The columns of a table without a header.", read=_names),
    dry_run: bool = flag("--dry-run", "Say what would be made, and write nothing."),
    common: Common,
) -> None:
    """Take in a log or a table that you keep today.

    Reads results.tsv, CSV, autoresearch.jsonl and Markdown logs. The numbers are marked as reported: no verdict and no
    best counts them. A newer version of a file adds what is new.

    Example: logbook import results.tsv --dry-run
    """
    space = common.space()
    source = _source(space, file, form)
    stem = re.sub(r"[^a-z0-9_-]+", "_", Path(source.name).stem.lower()).strip("_-")
    topic = checked_topic(space.logbook_option or stem or "imported")
    book = None
    with contextlib.suppress(NotFound):  # else the one that an earlier import of the file has started
        book = space.named(topic)
    found = take_in(space, source, columns or (), book, StartRequest(topic=topic, prefix=prefix), dry_run=dry_run)
    common.emit("import", data(found), lambda: _text(space, found, topic, dry_run=dry_run))


def _source(space: Workspace, file: str, form: str | None) -> Source:
    """The file without its secrets. Raises UsageError for what is no text."""
    form = one_of("--as", "format", form, FORMATS) if form is not None else None
    try:
        with sys.stdin.buffer if file == "-" else (space.cwd / Path(file).expanduser()).open("rb") as stream:
            raw = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        cause = "it is looked for from this folder"
        raise UsageError(f"cannot read {file}: {error.strerror}", cause=cause, hint="logbook import PATH") from error
    is_wide = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = raw.decode("utf-16" if is_wide else "utf-8-sig", "replace")
    why = "is larger than 64 MiB" if len(raw) > _MOST_BYTES else "is not text" if "\0" in text else "holds no text"
    if len(raw) > _MOST_BYTES or "\0" in text or not text.strip():
        cause = "a log is text: TSV, CSV, JSON lines or Markdown"
        raise UsageError(f"{file} {why}", cause=cause, hint="logbook import results.tsv")
    name = "stdin" if file == "-" else re.sub(r"[^\w.-]+", "_", Path(file).name).lstrip(".") or "source"
    safe = space.redactor.text(text)
    data = raw if safe == text else safe.encode()
    return Source(name=name, data=data, text=safe, form=form or format_of(name, safe), is_changed=safe != text)


def data(found: ImportResult) -> dict[str, object]:
    """What an import made, or would make, for machines."""
    source, document = found.source, found.document
    return {
        "logbook": found.book.topic if found.book is not None else None,
        "source": source.name,
        "format": source.form,
        "sha256": source.sha256,
        "is_redacted": source.is_changed,
        "kept": str(found.place) if found.place is not None else None,
        "note": found.note,
        "entries": [_entry(one) for one in found.entries],
        "texts": [[span.first, span.last] for span in found.texts],
        "spans": [[span.first, span.last] for span in document.spans],
        "already_there": found.known,
        "metrics": [{"name": m.name, "unit": m.unit, "direction": m.direction} for m in document.metrics],
        "named": [{"line": one.line, "text": one.text} for one in document.named],
    }


def _entry(one: TakenEntry) -> dict[str, object]:
    entry = one.entry
    return {
        "id": one.id,
        "lines": [one.span.first, one.span.last],
        "supersedes": one.supersedes,
        **{key: getattr(entry, key) for key in ("name", "title", "opened", "kept", "commit")},
        "commands": [command.text for command in entry.commands],
        "tables": len(entry.tables),
        "rows": len(entry.rows),
        "failed": sum(row.failed is not None for row in entry.rows),
    }


def _text(space: Workspace, found: ImportResult, topic: str, *, dry_run: bool) -> str:
    if not found.entries and not found.texts:
        return f"nothing new in {found.source.name}: {topic} has all of it"
    rows = sum(len(one.entry.rows) for one in found.entries)
    commands = counted(sum(len(one.entry.commands) for one in found.entries), "command")
    made = f"{counted(len(found.entries), 'entry', 'entries')}, {counted(rows, 'row')} and {commands}"
    begun = "" if found.book is not None else f", and {topic} would be started"
    begun = f" (dry run: nothing is written{begun})" if dry_run else ""
    lines = [f"{topic}: {made} from {found.source.name}{begun}"]
    lines += [f"  {found.known} parts of it were there already"] if found.known else []
    shown = [f"  {one.id or '-'}  {one.span.place}  {one.entry.title}" for one in found.entries]
    lines += bounded(shown, _SHOWN, "more: logbook list")
    lines += bounded([f"  {one}" for one in found.document.named], _SHOWN, "lines more: --json has all")
    if found.source.is_changed:
        lines.append("  secrets were taken out; so the kept source is not the file byte for byte")
    lines += [f"kept: {found.place}"] if found.place is not None else []
    first = next((one.id for one in found.entries if one.id and any(row.metrics for row in one.entry.rows)), None)
    if first is not None:
        accept = " ".join(["logbook edit", *naming(space, found.book), first, "--accept WHY"])
        lines.append(f"these numbers are reported, not measured here; to let those of an entry count: {accept}")
    return "\n".join(lines)
