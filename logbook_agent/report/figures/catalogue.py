"""Which figures there are: of a thread, of an entry, of a metric."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from logbook_agent.findings.read import Findings
from logbook_agent.model.entry import Entry, parse_plot
from logbook_agent.model.header import Metric
from logbook_agent.model.record import Record
from logbook_agent.report.figures.best_over_time import thread_figures
from logbook_agent.report.figures.by_pair import pairs
from logbook_agent.report.figures.figure import Figure, FigureKind, attempted, failure, undrawn
from logbook_agent.report.figures.over_axis import metrics_of, noise, rows_of, sweep
from logbook_agent.report.figures.over_cases import crossover

if TYPE_CHECKING:
    from logbook_agent.findings.comparison.answer import Answer


def figures(findings: Findings, *, entry: str | None = None, metric: str | None = None) -> tuple[Figure, ...]:
    """The figures of a logbook: of the thread first, then of every entry that counts, in order. Of an `entry` there are
    its own, whether or not it counts; of a `metric` those that show it. A damaged entry has none. Raises NotFound for
    an entry that is not there."""
    if entry is not None:
        return _told_apart(of_entry(findings, findings.records.record(findings.records.resolve(entry)), metric))
    return _told_apart(_all(findings, metric))


def of_thread(findings: Findings) -> tuple[Figure, ...]:
    """Those of the whole thread alone."""
    return _told_apart(thread_figures(findings.thread, findings.answers, None))


def _all(findings: Findings, metric: str | None) -> Iterator[Figure]:
    yield from thread_figures(findings.thread, findings.answers, metric)
    for record in findings.counting:
        yield from of_entry(findings, record, metric)


def of_entry(findings: Findings, record: Record, metric: str | None = None) -> Iterator[Figure]:
    """The figures of one entry; one that cannot be drawn says why."""
    try:
        yield from list(_of_entry(findings, record, metric))
    except Exception as error:  # noqa: BLE001  whatever it is: the other entries have their plots
        yield undrawn(FigureKind.SWEEP, failure(error), entry=record.id, metric=metric)


def _of_entry(findings: Findings, record: Record, metric: str | None) -> Iterator[Figure]:
    header, owner = findings.header, record.id
    stated = record.entry.comparison
    answer = findings.comparisons.answer_of(owner) if stated is not None else None
    # An earlier entry of a question leaves its figures to the one that goes on with it.
    if answer is not None and answer.entry == owner:
        yield from _compared(answer, header.metrics, metric)
    asked = {stated.question.axis: stated.question.values} if stated is not None else {}
    orders = {axis.axis: axis.values for axis in header.matrix} | asked
    for kind, name, make in _of_rows(record, header.metrics, metric, asked, orders):
        if (figure := attempted(make, kind, entry=owner, metric=name)) is not None:
            yield figure


def _compared(answer: Answer, declared: Sequence[Metric], metric: str | None) -> Iterator[Figure]:
    """The plots of each metric of an answer, or of the one that is asked for."""
    for name in dict.fromkeys(f.metric for f in answer.findings if metric in (None, f.metric)):
        found = [f for f in answer.findings if f.metric == name and f.pairs]
        makers = (
            (FigureKind.CROSSOVER, functools.partial(crossover, answer, found)),
            (FigureKind.PAIRS, functools.partial(pairs, answer, found, declared)),
        )
        for kind, make in makers:
            if (figure := attempted(make, kind, entry=answer.entry, metric=name)) is not None:
                yield figure


_Made: TypeAlias = tuple[FigureKind, str, Callable[[], Figure | None]]


def _of_rows(
    record: Record,
    declared: Sequence[Metric],
    metric: str | None,
    asked: Collection[str],
    orders: Mapping[str, Sequence[str]],
) -> Iterator[_Made]:
    """The plots that need only the rows of an entry."""
    rows = rows_of(record)
    if rows is None:
        return
    for name, unit in metrics_of(rows, declared, metric):
        make = functools.partial(sweep, rows, name, unit, declared, compared=asked, orders=orders)
        yield FigureKind.SWEEP, name, make
        yield FigureKind.NOISE, name, functools.partial(noise, rows, name, unit, declared)


def named(findings: Findings, entry: Entry) -> tuple[Figure, ...]:
    """The figures that an entry names, in the order in which it does. Raises StoreError where its record cannot be
    read."""
    if not entry.plots:
        return ()
    wanted = [parse_plot(name) for name in entry.plots]
    record = findings.records.record(entry.id)
    metrics = dict.fromkeys(metric for _, metric in wanted)
    found = {metric: _told_apart(of_entry(findings, record, metric)) for metric in metrics}
    return _once(figure for kind, metric in wanted for figure in found[metric] if figure.kind == kind)


def named_of_thread(findings: Findings) -> tuple[Figure, ...]:
    """The figures of the whole thread that the header names."""
    wanted = [parse_plot(name) for name in findings.records.header.plots]
    if not wanted:
        return ()
    found = {
        metric: tuple(thread_figures(findings.thread, findings.answers, metric))
        for metric in {metric for _, metric in wanted}
    }
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
