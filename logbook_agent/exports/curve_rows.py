"""The points of curves as a table in long form: a row for each point, with its entry, run, case and metric."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from logbook_agent.exports.columns import DataColumn, Type
from logbook_agent.features import hook_module
from logbook_agent.findings.read import Findings
from logbook_agent.model.errors import UsageError
from logbook_agent.model.run import Curve, Run
from logbook_agent.model.values import finite
from logbook_agent.store.book import Book

SCHEMA = "logbook-curves/1"
_COLUMNS: dict[str, Type] = {
    "entry": "text",
    "run": "int",
    "series": "text",
    "over": "text",
    "step": "float",
    "value": "float",
    "config": "text",
}
# The curves of a run with their steps and values.
PointsOf = Callable[[Run], Iterable[tuple[Curve, Sequence[float], Sequence[float]]]]


def points_of(book: Book) -> PointsOf:
    """What reads the points of the runs of a logbook; nothing where no feature keeps them."""

    def found(run: Run) -> Iterable[tuple[Curve, Sequence[float], Sequence[float]]]:
        feature = hook_module("curves") if run.curves else None
        return feature.points(book, run) if feature is not None else ()

    return found


def curve_columns(found: Findings, points: PointsOf, entry_ids: Sequence[str]) -> list[DataColumn]:
    """The table of the entries that are named, of none that of all; a value that is not finite is None. Raises
    UsageError where there are no curves."""
    named = dict.fromkeys(found.records.resolve(i) for i in entry_ids)
    records = [found.records.record(i) for i in named] if named else found.contents.records
    runs = [s.run for record in records for s in record.runs if s.run.curves]
    if not runs:
        raise UsageError(
            f"{', '.join(named) or found.records.topic} has no curves",
            cause="no run printed a row with a step, such as METRIC loss=3.87 step=600",
            hint="logbook export --as csv",
        )
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for run in runs:
        for curve, steps, values in points(run):
            config = json.dumps(curve.config, sort_keys=True, ensure_ascii=False)
            same = {"entry": run.entry, "run": run.run, "series": curve.name, "over": curve.over, "config": config}
            for name, value in same.items():
                columns[name] += [value] * len(steps)
            columns["step"] += steps
            columns["value"] += map(finite, values)
    return [DataColumn(name=name, type=kind, values=tuple(columns[name])) for name, kind in _COLUMNS.items()]


def curve_json(columns: Sequence[DataColumn], topic: str) -> Iterator[bytes]:
    """The table as JSON: an object with its schema, and `points`, a list for each column."""
    data = {"schema": SCHEMA, "logbook": topic, "points": {c.name: c.values for c in columns}}
    yield json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"
