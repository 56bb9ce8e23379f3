"""The best so far, over a whole thread."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from logbook_agent.findings.best import BestCase, course
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.thread import Thread
from logbook_agent.model.header import Metric
from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries, key
from logbook_agent.report.figures.figure_words import metric_axis, name_of, shown
from logbook_agent.report.figures.over_axis import SPREAD
from logbook_agent.text.markdown import cut_line

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
