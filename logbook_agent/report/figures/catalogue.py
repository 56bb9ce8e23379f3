"""Which figures there are: of a thread (the best so far, all comparisons), of an entry, of a metric."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from logbook_agent.findings.best import BestCase, course
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.read import Findings
from logbook_agent.findings.thread import Thread
from logbook_agent.model.entry import Entry, parse_plot
from logbook_agent.model.header import Metric
from logbook_agent.model.record import Record
from logbook_agent.report.figures.figure import (
    Figure,
    FigureKind,
    PlotAxis,
    PlotPoint,
    PlotSeries,
    key,
    metric_axis,
    name_of,
    shown,
)
from logbook_agent.report.figures.over_axis import SPREAD, metrics_of, noise, rows_of, sweep
from logbook_agent.report.figures.over_cases import crossover, forest, pairs
from logbook_agent.text.markdown import cut_line

if TYPE_CHECKING:
    from logbook_agent.findings.comparison.answer import Answer

_WORD = {"max": "highest", "min": "lowest"}


def bests(thread: Thread, answers: Sequence[Answer], metric: str | None) -> Iterator[Figure]:
    """The figure of each primary metric, or of the one asked for."""
    asked = (one for one in thread.header.metrics if one.name == metric or (metric is None and one.primary))
    yield from filter(None, (best(thread, answers, one) for one in asked))


def best(thread: Thread, answers: Sequence[Answer], metric: Metric) -> Figure | None:
    """The best case of every entry, and of all up to it, of the problem that most entries measured; None of fewer than
    two entries."""
    steps = course(thread, answers, metric) if metric.direction is not None else []
    if len(steps) < 2:
        return None
    values = [case.value for step in steps for case in (step.own, step.so_far)]
    y = metric_axis(metric.name, thread.header.metrics, steps[0].own.unit, values)
    names = tuple(step.own.entries[0] for step in steps)
    configs = [step.own.flags or step.own.config for step in steps]
    same = set.intersection(*({*config.items()} for config in configs))
    own = [_point(name, step.own, y.unit, same) for name, step in zip(names, steps, strict=True)]
    so_far = [_point(name, step.so_far, y.unit, same) for name, step in zip(names, steps, strict=True)]
    # A mark where it becomes better, and the last one; the interval stands with the entry that measured it.
    last = len(steps) - 1
    so_far = [
        PlotPoint(x=p.x, y=p.y, n=p.n, said=f"best so far, {p.said}", entry=step.so_far.entries[0])
        for at, (p, step) in enumerate(zip(so_far, steps, strict=True))
        if at in (0, last) or step.so_far != steps[at - 1].so_far
    ]
    problem = f" at {name_of(steps[0].own.problem)}" if steps[0].own.problem else ""
    spread = f"; {SPREAD}" if any(point.low is not None for point in own) else ""
    return Figure(
        key=key("thread", "best", metric.name),
        kind=FigureKind.BEST,
        title=f"Best {metric.name} so far{problem}",
        x=PlotAxis(name="entry", names=names),
        y=y,
        series=(
            PlotSeries(name="best of the entry", shape="points", points=tuple(own)),
            PlotSeries(name="best so far", shape="steps", points=tuple(so_far)),
        ),
        note=f"{len(names):,} entries that count; the {_WORD[str(metric.direction)]} median run{spread}. A case counts "
        "with all its runs, and one that lost a comparison is no longer the best.",
        entries=names,
    )


def _point(name: str, case: BestCase, unit: str, same: Collection[tuple[str, object]]) -> PlotPoint:
    """The mark of a case. What all cases have in common, `same`, is not repeated at each mark."""
    low, high = (case.low, case.high) if case.runs > 1 else (None, None)
    config = case.flags or case.config
    what = case.label or name_of({name: value for name, value in config.items() if (name, value) not in same})
    entry = case.entries[0]
    said = f"{entry}{what and f' {what}'}: {shown(case.value, case.metric, unit, low, high)}, n={case.runs}"
    return PlotPoint(x=name, y=case.value, low=low, high=high, n=case.runs, said=cut_line(said, 240), entry=entry)


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
