"""Which figures there are: of a thread, of an entry, of a metric."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from logbook_agent.findings.read import Findings
from logbook_agent.model.entry import Entry, parse_plot
from logbook_agent.model.header import Metric
from logbook_agent.model.record import Record
from logbook_agent.report.figures.best_over_time import bests
from logbook_agent.report.figures.by_pair import pairs
from logbook_agent.report.figures.figure import Figure
from logbook_agent.report.figures.over_axis import metrics_of, noise, rows_of, sweep
from logbook_agent.report.figures.over_cases import crossover, forest

if TYPE_CHECKING:
    from logbook_agent.findings.comparison.answer import Answer


def figures(findings: Findings, *, entry: str | None = None, metric: str | None = None) -> tuple[Figure, ...]:
    """The figures of a logbook: of the thread first, then of every entry that counts, in order. Of an `entry` there are
    its own, whether or not it counts; of a `metric` those that show it. A damaged entry has none. Raises NotFound for
    an entry that is not there."""
    if entry is not None:
        return own_figures(findings, findings.records.resolve(entry), metric)
    entries = (of_entry(findings, record, metric) for record in findings.counting)
    return _told_apart(itertools.chain(of_thread(findings, metric), *entries))


def own_figures(findings: Findings, owner: str | None, metric: str | None = None) -> tuple[Figure, ...]:
    """Those of one entry, or (None) of the whole thread. Raises StoreError where its record cannot be read."""
    if owner is None:
        return _told_apart(of_thread(findings, metric))
    return _told_apart(of_entry(findings, findings.records.record(owner), metric))


def of_thread(findings: Findings, metric: str | None = None) -> Iterator[Figure]:
    """The best so far of each metric, and all comparisons."""
    yield from bests(findings.thread, findings.answers, metric)
    yield from filter(None, [forest(findings.answers, metric)])


def of_entry(findings: Findings, record: Record, metric: str | None = None) -> Iterator[Figure]:
    """The figures of one entry."""
    header, owner = findings.header, record.id
    stated = record.entry.comparison
    answer = findings.comparisons.answer_of(owner) if stated is not None else None
    # An earlier entry of a question leaves its figures to the one that goes on with it.
    if answer is not None and answer.entry == owner:
        yield from _compared(answer, header.metrics, metric)
    rows = rows_of(record, header.metrics, {axis.axis: axis.values for axis in header.matrix})
    if rows is None:
        return
    for name, unit in metrics_of(rows, metric):
        yield from filter(None, (sweep(rows, name, unit), noise(rows, name, unit)))


def _compared(answer: Answer, declared: Sequence[Metric], metric: str | None) -> Iterator[Figure]:
    """The plots of each metric of an answer, or of the one that is asked for."""
    for name in dict.fromkeys(f.metric for f in answer.findings if metric in (None, f.metric)):
        found = [f for f in answer.findings if f.metric == name and f.pairs]
        yield from filter(None, (crossover(answer, found), pairs(answer, found, declared)))


def named(findings: Findings, entry: Entry | None) -> tuple[Figure, ...]:
    """The figures that an entry, or without one the header, names, in the order in which it does. Raises StoreError
    where its record cannot be read."""
    wanted = [parse_plot(name) for name in (entry or findings.records.header).plots]
    owner = entry.id if entry is not None else None
    found = {metric: own_figures(findings, owner, metric) for metric in {metric for _, metric in wanted}}
    shown = (figure for kind, metric in wanted for figure in found[metric] if figure.kind == kind)
    return tuple({figure.key: figure for figure in shown}.values())


def _told_apart(found: Iterable[Figure]) -> tuple[Figure, ...]:
    """With a number behind each further figure that would have the key of another."""
    keys: dict[str, int] = {}
    told = []
    for figure in found:
        keys[figure.key] = count = keys.get(figure.key, 0) + 1
        told.append(figure if count == 1 else structs.replace(figure, key=f"{figure.key}-{count}"))
    return tuple(told)
