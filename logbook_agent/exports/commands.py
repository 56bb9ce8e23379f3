"""`logbook export`: the rows in one of the forms, at one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from logbook_agent.cli.options import ONLY_WHERE, Common, Text, arguments, flag, option, plain_pairs
from logbook_agent.cli.output import say, write_bytes
from logbook_agent.exports import frames
from logbook_agent.exports.columns import columns_of, csv_lines, json_pieces, left_out
from logbook_agent.exports.curve_rows import (
    PointsOf,
    curve_columns,
    curve_csv,
    curve_json,
    no_points,
    points_of,
    stored_curves,
)
from logbook_agent.exports.measured_rows import Exported, exported, without_rows
from logbook_agent.exports.place import ENDINGS, ExportPlace, building, check_replaceable, place_of
from logbook_agent.exports.trackers import WRITERS, tracked
from logbook_agent.findings.read import read
from logbook_agent.model.errors import UsageError, exclusive
from logbook_agent.model.header import Header
from logbook_agent.store.book import Book
from logbook_agent.text.phrases import counted, one_of

FORMS = tuple(ENDINGS)
# Those that are text, which may go to stdout.
TEXTS = ("csv", "json")


def export_command(
    *,
    entry_ids: Sequence[str] = arguments("[ID...]", "Entries whose rows to export. [all]"),
    form: str = option("--as FORM", f"{', '.join(FORMS)}.", ...),
    out: Text = option("--out PATH", "Where to write; - for stdout (csv, json). [exports/ of the logbook]"),
    curves: bool = flag("--curves", "Export the points of curves instead of rows, one per line: csv, json, parquet."),
    force: bool = flag("--force", "Replace what is at --out: a file, or a folder that an export made."),
    where: Mapping[str, str] = ONLY_WHERE(read=partial(plain_pairs, name="--where")),
    common: Common,
) -> int:
    """Export all measured rows: CSV, Parquet, JSON, MLflow, W&B offline, Trackio.

    Rows that do not count are exported, too, with the reason. Example: logbook export --as parquet --out rows.parquet
    """
    form = one_of("--as", "form", form, FORMS)
    _check(form, out, as_json=common.as_json)
    space = common.space()
    book = space.book(*entry_ids[:1]).outgoing()
    if curves:
        exclusive({"--curves": True, "--where": bool(where)}, cause="--where selects rows")
        return _export_curves(common, book, form, out, entry_ids, force=force)
    found = exported(read(space, book), entry_ids=entry_ids, where=where)
    space.warnings += [f"not exported: {message}" for message in found.damaged]
    if not found.rows:
        raise without_rows(book.topic, entry_ids)
    if out == "-":
        _print(found, book, form)
        common.emit("export", None)
        return 0
    place = place_of(space, book, form, out, force=force)
    write(found, book.header, place, points_of(book))
    opens = how_to_open(place, book.topic)
    entries = len({row.entry.id for row in found.rows})
    data = {
        "as": form,
        "path": str(place.path),
        "rows": len(found.rows),
        "counting": sum(row.counts for row in found.rows),
        "entries": entries,
        "left_out": left_out(found),
        "open_with": opens or None,
    }
    rows = f"{counted(len(found.rows), 'row')} of {counted(entries, 'entry', 'entries')}"
    lines = [f"{rows} as {form}: {place.path}", *(f"  {note}" for note in found.notes())]
    common.emit("export", data, "\n".join(lines))
    if opens and not common.as_json:
        say(f"next: {opens}")
    return 0


def _export_curves(common: Common, book: Book, form: str, out: str | None, ids: Sequence[str], *, force: bool) -> int:
    """Export the points of curves in long form."""
    if ENDINGS[form] == "":
        raise UsageError(
            f"--curves cannot be used with --as {form}",
            cause="trackers take the points of curves together with their rows",
            hint=f"logbook export --as {form}",
        )
    space = common.space()
    found = stored_curves(read(space, book), points_of(book), ids)
    if form == "parquet":
        made = iter([frames.parquet(curve_columns(found))])
    else:
        made = curve_csv(found) if form == "csv" else curve_json(found, book.topic)
    if out == "-":
        write_bytes(made)
        common.emit("export", None)
        return 0
    place = place_of(space, book, form, out, curves=True, force=force)
    check_replaceable(place)
    place.files.write(place.path, made)
    data = {"as": form, "path": str(place.path)}
    common.emit("export", data, f"points of curves as {form}: {place.path}")
    return 0


def _check(form: str, out: str | None, *, as_json: bool) -> None:
    if out == "-" and (form not in TEXTS or as_json):
        raise UsageError(
            f"--out - cannot take {'--json' if as_json else form}",
            cause="stdout takes a single document" if as_json else f"only {' and '.join(TEXTS)} can be printed",
            hint=f"name a file: --out rows{'' if form not in TEXTS else f'.{form}'}",
        )


def _print(found: Exported, book: Book, form: str) -> None:
    """The content on stdout, and what is left out on stderr."""
    write_bytes(pieces(found, book.header, form))
    for note in found.notes():
        say(note)


def pieces(found: Exported, header: Header, form: str) -> Iterator[bytes]:
    """The content of a form that is a file. Raises UsageError where a library is missing."""
    if form == "csv":
        return csv_lines(columns_of(found.rows))
    if form == "json":
        return json_pieces(found, header)
    return iter([frames.parquet(columns_of(found.rows))])


def write(found: Exported, header: Header, place: ExportPlace, points: PointsOf = no_points) -> None:
    """Write the rows there, whole or not at all; to trackers with `points`, those of the curves of a run. Raises Taken
    for what may not be replaced, UsageError where a library is missing."""
    check_replaceable(place)
    if ENDINGS[place.form]:
        place.files.write(place.path, pieces(found, header, place.form))
        return
    with building(place) as folder:
        WRITERS[place.form](tracked(found, points), header.topic, folder, place.path)


def how_to_open(place: ExportPlace, topic: str) -> str:
    """What to type to look at it; empty where any program does."""
    path = place.path
    return {
        "mlflow": f"mlflow ui --backend-store-uri sqlite:///{path}/mlflow.db",
        "wandb-offline": f"wandb sync {path}/offline-run-*",
        "trackio": f"TRACKIO_DIR={path} trackio show --project {topic}",
    }.get(place.form, "")
