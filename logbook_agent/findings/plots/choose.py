"""Which figures there are: of a thread, of an entry, of a metric."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator

from logbook_agent.findings.plots.compared import compared_figures
from logbook_agent.findings.plots.figure import Figure, FigureKind
from logbook_agent.findings.plots.predicted import predicted, roofline
from logbook_agent.findings.plots.sweep import metrics_of, noise, rows_of, sweep
from logbook_agent.findings.plots.thread import thread_figures
from logbook_agent.findings.read import Findings
from logbook_agent.model.entry import Entry, parse_plot
from logbook_agent.model.errors import StoreError
from logbook_agent.model.record import Record


def figures(findings: Findings, *, entry: str | None = None, metric: str | None = None) -> tuple[Figure, ...]:
    """The figures of a logbook: of the thread first, then of every entry that counts, in order. Of an `entry` there are
    its own, whether or not it counts; of a `metric` those that show it. A damaged entry has none. Raises NotFound for
    an entry that is not there."""
    if entry is not None:
        return _told_apart(of_entry(findings, findings.book.record(findings.book.resolve(entry)), metric))
    return _told_apart(_all(findings, metric))


def of_thread(findings: Findings, metric: str | None = None) -> tuple[Figure, ...]:
    """Those of the whole thread alone."""
    return _told_apart(thread_figures(findings.thread, metric))


def _all(findings: Findings, metric: str | None) -> Iterator[Figure]:
    yield from thread_figures(findings.thread, metric)
    for record in findings.counting:
        with contextlib.suppress(StoreError):  # a record of another entry that it is compared with
            yield from of_entry(findings, record, metric)


def of_entry(findings: Findings, record: Record, metric: str | None = None) -> Iterator[Figure]:
    """The figures of one entry."""
    header = findings.header
    found = list(compared_figures(record.id, findings.kept(record.entry), header.metrics, metric))
    # A comparison over an axis shows the curve already.
    shown = {figure.y.name for figure in found if figure.kind is FigureKind.CONTROLS}
    asked = {one.axis for one in record.entry.comparisons if one.axis is not None}
    rows = rows_of(record)
    if rows is not None:
        for name, unit in metrics_of(rows, header.metrics, metric):
            curve = sweep(rows, name, unit, header.metrics, compared=asked) if name not in shown else None
            yield from filter(None, (curve, noise(rows, name, unit, header.metrics)))
    yield from found
    if findings.predictions.exist and metric in (None, "time_s", "tflops"):
        checks = findings.predictions.checks
        made = (
            predicted(record.id, checks.of_entry.get(record.id, [])) if metric != "tflops" else None,
            roofline(record, checks.checked_by(record.id)) if metric != "time_s" else None,
        )
        yield from filter(None, made)
    elif metric in (None, "tflops") and (roof := roofline(record, [])) is not None:
        yield roof


def named(findings: Findings, entry: Entry) -> tuple[Figure, ...]:
    """The figures that an entry names, in the order in which it does. Raises StoreError where its record cannot be
    read."""
    if not entry.plots:
        return ()
    wanted = [parse_plot(name) for name in entry.plots]
    record = findings.book.record(entry.id)
    metrics = dict.fromkeys(metric for _, metric in wanted)
    found = {metric: _told_apart(of_entry(findings, record, metric)) for metric in metrics}
    return _once(figure for kind, metric in wanted for figure in found[metric] if figure.kind == kind)


def named_of_thread(findings: Findings) -> tuple[Figure, ...]:
    """The figures of the whole thread that the header names."""
    wanted = [parse_plot(name) for name in findings.book.header.plots]
    if not wanted:
        return ()
    found = {metric: tuple(thread_figures(findings.thread, metric)) for metric in {metric for _, metric in wanted}}
    return _once(figure for kind, metric in wanted for figure in found[metric] if figure.kind == kind)


def _once(found: Iterable[Figure]) -> tuple[Figure, ...]:
    return tuple({figure.key: figure for figure in found}.values())


def _told_apart(found: Iterable[Figure]) -> tuple[Figure, ...]:
    """With a number behind each further figure that would have the key of another."""
    keys: dict[str, int] = {}
    told = []
    for figure in found:
        keys[figure.key] = count = keys.get(figure.key, 0) + 1
        told.append(figure if count == 1 else dataclasses.replace(figure, key=f"{figure.key}-{count}"))
    return tuple(told)
