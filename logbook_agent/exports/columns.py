"""The rows as one flat table with one type for each column, which every form of an export holds.

Where a row comes from and what it is worth has fixed names; what experiments name themselves stands behind a prefix
(`config.tile`, `metric.tflops`), so that no name can be taken for another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import Struct

from logbook_agent.exports.measured_rows import Exported, MeasuredRow
from logbook_agent.findings.cases import executed
from logbook_agent.findings.tables.frame import devices_text
from logbook_agent.model.codec import encode
from logbook_agent.model.header import Header
from logbook_agent.model.stats import median
from logbook_agent.model.values import spelt
from logbook_agent.text.markdown import csv_cell

SCHEMA = "logbook-rows/1"
# `time` is ISO 8601 text that has a zone; `samples` a tuple of floats.
Type = Literal["text", "int", "float", "bool", "time", "samples"]
_INT64 = 2**63


class DataColumn(Struct, frozen=True, kw_only=True):
    """One value for each row, None where it is unknown."""

    name: str
    type: Type
    values: tuple[Any, ...]


def moment(text: str) -> datetime | None:
    """A stored time in UTC; None for a text that is none or has no zone."""
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def columns_of(rows: Sequence[MeasuredRow]) -> list[DataColumn]:
    """The table. A column of the second kind is there when a row has the name, in order of appearance."""
    found = [_column(name, kind, [read(row) for row in rows]) for name, kind, read in _FIXED]
    for prefix, kind, read_all in _NAMED:
        values: dict[str, list[Any]] = {}
        for place, row in enumerate(rows):
            for name, value in read_all(row).items():
                values.setdefault(name, [None] * len(rows))[place] = value
        found += [_column(f"{prefix}.{name}", kind, column) for name, column in values.items()]
    return found


def _column(name: str, kind: Type | None, values: Sequence[Any]) -> DataColumn:
    """`kind` None: what fits all values without changing one, else text."""
    kind = kind or _fitting(values)
    if kind == "time" and any(v is not None and moment(v) is None for v in values):
        kind = "text"
    if kind == "int" and any(v is not None and not -_INT64 <= v < _INT64 for v in values):
        kind = "text"
    readers: dict[str, Callable[[Any], Any]] = {"text": _text, "float": float}
    read = readers.get(kind, _same)
    return DataColumn(name=name, type=kind, values=tuple(None if v is None else read(v) for v in values))


def _fitting(values: Sequence[Any]) -> Type:
    types = {type(v) for v in values if v is not None}
    if types == {bool}:
        return "bool"
    if types == {int}:
        return "int"
    if types in ({float}, {int, float}) and all(_is_exact(v) for v in values if v is not None):
        return "float"
    return "text"


def _is_exact(value: float) -> bool:
    """Whether a number is the same as a float."""
    return float(value) == value if abs(value) < 2.0**1023 else isinstance(value, float)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else spelt(value)


def _same(value: Any) -> Any:
    return value


def _joined(texts: Sequence[str]) -> str | None:
    return "; ".join(texts) or None


def _packages(row: MeasuredRow) -> dict[str, str]:
    """The packages of a row with their versions, those that it reports itself before those of its run."""
    return dict(sorted({**row.run.software, **row.row.software}.items()))


def _used(row: MeasuredRow) -> list[int]:
    return [device.used for device in row.row.devices if device.used is not None]


_FIXED: tuple[tuple[str, Type, Callable[[MeasuredRow], Any]], ...] = (
    ("entry", "text", lambda r: r.entry.id),
    ("run", "int", lambda r: r.run.run),
    ("row", "int", lambda r: r.place),
    ("counts", "bool", lambda r: r.counts),
    ("why_not", "text", lambda r: r.why_not or None),
    ("title", "text", lambda r: r.entry.title),
    ("kind", "text", lambda r: r.entry.kind),
    ("entry_state", "text", lambda r: r.entry_state),
    ("label", "text", lambda r: r.run.label),
    ("state", "text", lambda r: r.status.state),
    ("repeat", "int", lambda r: r.run.repeat),
    ("discarded", "bool", lambda r: r.run.discarded),
    ("failed", "text", lambda r: r.row.failed.reason if r.row.failed is not None else None),
    ("failed_message", "text", lambda r: (r.row.failed.message or None) if r.row.failed is not None else None),
    ("command", "text", lambda r: executed(r.run)),
    ("cwd", "text", lambda r: r.run.cwd),
    ("launcher", "text", lambda r: r.run.through or None),
    ("executor", "text", lambda r: r.run.executor),
    ("job", "text", lambda r: r.run.job),
    ("started", "time", lambda r: r.run.started),
    ("ended", "time", lambda r: r.run.ended),
    ("duration_s", "float", lambda r: r.run.duration_s),
    ("exit_code", "int", lambda r: r.run.exit.code if r.run.exit is not None else None),
    ("exit_signal", "text", lambda r: r.run.exit.signal if r.run.exit is not None else None),
    ("timed_out", "bool", lambda r: r.run.exit.timeout if r.run.exit is not None else None),
    ("peak_memory_bytes", "int", lambda r: r.run.peak_memory_bytes),
    ("commit", "text", lambda r: r.run.code.commit if r.run.code is not None else None),
    ("branch", "text", lambda r: r.run.code.branch if r.run.code is not None else None),
    ("dirty", "bool", lambda r: r.run.code.dirty if r.run.code is not None else None),
    ("code", "text", lambda r: r.run.code.identity if r.run.code is not None else None),
    ("host", "text", lambda r: r.row.host or r.run.own_host.name),
    ("os", "text", lambda r: r.run.own_host.os),
    ("cpu", "text", lambda r: r.run.own_host.cpu),
    ("cores", "int", lambda r: r.run.own_host.cores),
    ("memory_bytes", "int", lambda r: r.run.own_host.memory_bytes),
    ("busy", "bool", lambda r: r.case.busy),
    ("devices", "text", lambda r: devices_text(r.row.devices)),
    ("devices_used", "int", lambda r: sum(_used(r)) if len(_used(r)) == len(r.row.devices) > 0 else None),
    ("problems", "text", lambda r: _joined([*map(str, r.run.problems)])),
)
_NAMED: tuple[tuple[str, Type | None, Callable[[MeasuredRow], Mapping[str, object]]], ...] = (
    ("config", None, lambda r: r.row.config),
    ("metric", "float", lambda r: {n: median(m.samples) for n, m in r.row.metrics.items() if m.samples}),
    ("samples", "samples", lambda r: {n: m.samples for n, m in r.row.metrics.items()}),
    ("unit", "text", lambda r: {n: m.unit for n, m in r.row.metrics.items() if m.unit}),
    ("observation", "float", lambda r: r.row.observations),
    ("label", "text", lambda r: r.row.labels),
    ("package", "text", _packages),
    ("env", "text", lambda r: r.run.env.variables),
)


def csv_lines(columns: Sequence[DataColumn]) -> Iterator[bytes]:
    """The lines of the table as CSV (RFC 4180), the names first; each ends in CRLF. Numbers are in full precision.
    Unknown is an empty field, empty text is `""`, samples are a list in JSON. A text that a spreadsheet would take for
    a formula has a `'` in front (`neutral_cell`)."""
    yield (",".join(csv_cell(column.name) for column in columns) + "\r\n").encode("utf-8", "replace")
    for row in zip(*(column.values for column in columns), strict=True):
        yield (",".join(map(_field, row)) + "\r\n").encode()


def _field(value: Any) -> str:
    return csv_cell(json.dumps(value) if isinstance(value, tuple) else value)


def rows_of(columns: Sequence[DataColumn]) -> Iterator[dict[str, Any]]:
    """The rows of the table, each with what is known of it."""
    for values in zip(*(column.values for column in columns), strict=True):
        yield {c.name: value for c, value in zip(columns, values, strict=True) if value is not None}


def json_pieces(columns: Sequence[DataColumn], found: Exported, header: Header) -> Iterator[bytes]:
    """The table as one JSON document, a row on each line. Numbers are those of the record."""
    logbook = {"topic": header.topic, "prefix": header.prefix, "title": header.title, "goal": header.goal}
    declared = [encode(m) for m in header.metrics]
    yield f'{{"schema": "{SCHEMA}",\n"logbook": {_json({**logbook, "metrics": declared})},\n'.encode()
    yield f'"left_out": {_json(left_out(found))},\n"rows": [\n'.encode()
    for place, row in enumerate(rows_of(columns)):
        yield (",\n" * bool(place) + _json(row)).encode()
    yield b"\n]}\n"


def left_out(found: Exported) -> dict[str, Any]:
    """What is no row of the export."""
    return {
        "runs_without_rows": found.runs_without_rows,
        "not_asked_for": found.not_asked_for,
        "damaged_entries": list(found.damaged),
    }


def _json(data: Any) -> str:
    return json.dumps(encode(data), ensure_ascii=False, allow_nan=False)
