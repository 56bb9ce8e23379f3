"""The points of curves as a table in long form: a row for each point, with its entry, run, case and metric."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from logbook_agent.exports.columns import DataColumn, Type, csv_lines
from logbook_agent.features import hook_module
from logbook_agent.findings.read import Findings
from logbook_agent.model.errors import UsageError
from logbook_agent.model.run import Curve, Run
from logbook_agent.model.values import finite
from logbook_agent.store.book import Book

SCHEMA = "logbook-curves/1"
_COLUMNS = ("entry", "run", "series", "over", "step", "value", "config")
# The curves of a run with their steps and values.
PointsOf = Callable[[Run], Iterable[tuple[Curve, Sequence[float], Sequence[float]]]]


def no_points(run: Run) -> Iterable[tuple[Curve, Sequence[float], Sequence[float]]]:
    """No points of any run."""
    return ()


def points_of(book: Book) -> PointsOf:
    """What reads the points of the runs of a logbook; nothing where no feature keeps them."""

    def found(run: Run) -> Iterable[tuple[Curve, Sequence[float], Sequence[float]]]:
        feature = hook_module("curves") if run.curves else None
        return feature.points(book, run) if feature is not None else ()

    return found


class StoredCurve(Struct, frozen=True, kw_only=True):
    """The points of one curve of a run."""

    run: Run
    curve: Curve
    steps: Sequence[float]
    values: Sequence[float]

    @property
    def case(self) -> str:
        """Its config as JSON."""
        return json.dumps(self.curve.config, sort_keys=True, ensure_ascii=False)


def stored_curves(found: Findings, points: PointsOf, entry_ids: Sequence[str]) -> Iterator[StoredCurve]:
    """The curves of the entries that are named, of none those of all. Raises UsageError where there are none."""
    named = dict.fromkeys(found.records.resolve(i) for i in entry_ids)
    records = [found.records.record(i) for i in named] if named else found.contents.records
    runs = [s.run for record in records for s in record.runs if s.run.curves]
    if not runs:
        raise UsageError(
            f"{', '.join(named) or found.records.topic} has no curves",
            cause="no run printed a row with a step, such as METRIC loss=3.87 step=600",
            hint="logbook export --as csv",
        )
    return (
        StoredCurve(run=run, curve=curve, steps=steps, values=values)
        for run in runs
        for curve, steps, values in points(run)
    )


def curve_csv(curves: Iterable[StoredCurve]) -> Iterator[bytes]:
    """The table as CSV (RFC 4180), a curve at a time; what is not finite is an empty field."""
    yield from csv_lines(curve_columns(()))
    for stored in curves:
        _, *lines = csv_lines(curve_columns((stored,)))
        yield b"".join(lines)


def curve_columns(curves: Iterable[StoredCurve]) -> list[DataColumn]:
    """The table; what is not finite is None."""
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for stored in curves:
        count = len(stored.steps)
        same = {
            "entry": stored.run.entry,
            "run": stored.run.run,
            "series": stored.curve.name,
            "over": stored.curve.over,
        }
        for name, value in {**same, "config": stored.case}.items():
            columns[name] += [value] * count
        columns["step"] += stored.steps
        columns["value"] += map(finite, stored.values)
    types: dict[str, Type] = {"run": "int", "step": "float", "value": "float"}
    return [
        DataColumn(name=name, type=types.get(name, "text"), values=tuple(values)) for name, values in columns.items()
    ]


def curve_json(curves: Iterable[StoredCurve], topic: str) -> Iterator[bytes]:
    """The table as JSON: an object with its schema, and `points`, a list for each column."""
    data = {"schema": SCHEMA, "logbook": topic, "points": {c.name: c.values for c in curve_columns(curves)}}
    yield json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"
