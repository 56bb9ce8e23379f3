"""Tables and cases as CSV (RFC 4180): raw values in full precision, no thousands separators, no formulas."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from logbook_agent.findings.cases import Case
from logbook_agent.findings.tables.frame import devices_text, frame_of, varies
from logbook_agent.findings.tables.spec import Table
from logbook_agent.model.run import Scalar
from logbook_agent.model.stats import median
from logbook_agent.text.markdown import csv_cell


def to_csv(source: Table | Sequence[Case]) -> str:
    """A table as it stands, or every case on a line of its own. Lines end in CRLF; unknown is an empty field.

    Of cases it shows where they come from, every config key, metric (the median of its samples), number of
    samples where it is not one, observation and label, the devices, why a case failed, and the facts in which
    the cases differ. A name that stands for several of these is prefixed: `config.label`.
    """
    if isinstance(source, Table):
        return _lines([[column.name for column in source.columns], *source.values])
    return _cases(source)


_GROUPS = ("case", "config", "metric", "samples", "observation", "label", "ran", "fact")


def _cases(cases: Sequence[Case]) -> str:
    sampled = {name for case in cases for name, m in case.row.metrics.items() if len(m.samples) > 1}
    frame = frame_of(cases)
    differing = [fact for axis, fact in frame.facts.items() if varies(frame.items, axis)]
    flat = [_flat(case, sampled, differing) for case in cases]
    order: dict[tuple[str, str], None] = {}
    for group in _GROUPS:
        for row in flat:
            order.update({key: None for key in row if key[0] == group})
    names = [name for _, name in order]
    header = [name if names.count(name) == 1 else f"{group}.{name}" for group, name in order]
    return _lines([header, *([row.get(key) for key in order] for row in flat)])


def _flat(case: Case, sampled: Collection[str], facts: Sequence[str]) -> dict[tuple[str, str], Scalar]:
    row = case.row
    flat: dict[tuple[str, str], Scalar] = {
        ("case", "entry"): case.entry,
        ("case", "run"): case.run,
        ("case", "label"): case.label,
    }
    flat.update({("config", name): value for name, value in row.config.items()})
    for name, measurement in row.metrics.items():
        flat["metric", name] = median(measurement.samples) if measurement.samples else None
        if name in sampled:
            flat["samples", f"{name}_samples"] = len(measurement.samples)
    flat.update({("observation", name): value for name, value in row.observations.items()})
    flat.update({("label", name): value for name, value in row.labels.items()})
    flat["ran", "devices"] = devices_text(row.devices)
    flat["ran", "failed"] = row.failed.reason if row.failed is not None else None
    flat.update({("fact", name): case.facts.get(name) for name in facts})
    return flat


def _lines(rows: Iterable[Sequence[Scalar]]) -> str:
    return "".join(",".join(map(csv_cell, row)) + "\r\n" for row in rows)
