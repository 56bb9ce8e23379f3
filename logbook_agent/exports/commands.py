"""`logbook export`: the rows in one of the forms, at one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct

from logbook_agent.cli.options import ONLY_WHERE, Common, Text, arguments, flag, option, plain_pairs
from logbook_agent.cli.output import say, write_bytes
from logbook_agent.exports import frames
from logbook_agent.exports.columns import DataColumn, columns_of, csv_lines, json_pieces, left_out
from logbook_agent.exports.curve_rows import PointsOf, curve_columns, curve_json, points_of
from logbook_agent.exports.measured_rows import MeasuredRow, exported, without_rows
from logbook_agent.exports.place import ENDINGS, ExportPlace, building, check_replaceable, place_of
from logbook_agent.exports.trackers import WRITERS, tracked
from logbook_agent.findings.read import Findings, read
from logbook_agent.model.errors import UsageError, exclusive
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
    _check(form, out, curves=curves, as_json=common.as_json)
    exclusive({"--curves": curves, "--where": bool(where)}, cause="--where selects rows")
    space = common.space()
    book = space.book(*entry_ids[:1]).outgoing()
    points, found = points_of(book), read(space, book)
    content = _points(found, points, entry_ids) if curves else _rows(found, entry_ids, where)
    space.warnings += content.warnings
    if out == "-":
        write_bytes(content.pieces(form))
        common.emit("export", None)
        for note in content.notes:
            say(note)
        return 0
    place = place_of(space, book, form, out, curves=curves, force=force)
    check_replaceable(place)
    if ENDINGS[form]:
        place.files.write(place.path, content.pieces(form))
    else:
        with building(place) as folder:
            WRITERS[form](tracked(content.rows, content.columns, points), book.topic, folder, place.path)
    opens = how_to_open(place, book.topic)
    data = {"as": form, "path": str(place.path), **content.data, "open_with": opens or None}
    lines = [f"{content.what} as {form}: {place.path}", *(f"  {note}" for note in content.notes)]
    common.emit("export", data, "\n".join(lines))
    if opens and not common.as_json:
        say(f"next: {opens}")
    return 0


class _Content(Struct, frozen=True, kw_only=True):
    """A table and its document in JSON; `rows` are those of it, none for points. `what` says in words what it holds,
    `data` in numbers, `notes` what it leaves out."""

    columns: Sequence[DataColumn]
    document: Callable[[], Iterator[bytes]]
    what: str
    rows: Sequence[MeasuredRow] = ()
    data: Mapping[str, object] = {}
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()

    def pieces(self, form: str) -> Iterator[bytes]:
        """The content of a form that is a file. Raises UsageError where a library is missing."""
        if form == "parquet":
            return iter([frames.parquet(self.columns)])
        return csv_lines(self.columns) if form == "csv" else self.document()


def _points(found: Findings, points: PointsOf, entry_ids: Sequence[str]) -> _Content:
    columns = curve_columns(found, points, entry_ids)
    document = partial(curve_json, columns, found.records.topic)
    return _Content(columns=columns, document=document, what="points of curves")


def _rows(found: Findings, entry_ids: Sequence[str], where: Mapping[str, str]) -> _Content:
    made = exported(found, entry_ids=entry_ids, where=where)
    if not made.rows:
        raise without_rows(found.records.topic, entry_ids)
    columns, entries = columns_of(made.rows), len({row.entry.id for row in made.rows})
    counting = sum(row.counts for row in made.rows)
    return _Content(
        columns=columns,
        document=partial(json_pieces, columns, made, found.records.header),
        what=f"{counted(len(made.rows), 'row')} of {counted(entries, 'entry', 'entries')}",
        rows=made.rows,
        data={"rows": len(made.rows), "counting": counting, "entries": entries, "left_out": left_out(made)},
        notes=made.notes(),
        warnings=[f"not exported: {message}" for message in made.damaged],
    )


def _check(form: str, out: str | None, *, curves: bool, as_json: bool) -> None:
    if curves and not ENDINGS[form]:
        raise UsageError(
            f"--curves cannot be used with --as {form}",
            cause="trackers take the points of curves together with their rows",
            hint=f"logbook export --as {form}",
        )
    if out == "-" and (form not in TEXTS or as_json):
        raise UsageError(
            f"--out - cannot take {'--json' if as_json else form}",
            cause="stdout takes a single document" if as_json else f"only {' and '.join(TEXTS)} can be printed",
            hint=f"name a file: --out rows{'' if form not in TEXTS else f'.{form}'}",
        )


def how_to_open(place: ExportPlace, topic: str) -> str:
    """What to type to look at it; empty where any program does."""
    path = place.path
    return {
        "mlflow": f"mlflow ui --backend-store-uri sqlite:///{path}/mlflow.db",
        "wandb-offline": f"wandb sync {path}/offline-run-*",
        "trackio": f"TRACKIO_DIR={path} trackio show --project {topic}",
    }.get(place.form, "")
