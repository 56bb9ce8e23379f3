"""Figures of a whole thread: the best so far, and how far runs of one configuration scatter."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from logbook_agent.findings.best import BestCase, course
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.thread import Thread
from logbook_agent.model.header import Metric, metric_named
from logbook_agent.model.stats import noise_floor, pooled_floor
from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries, attempted, key
from logbook_agent.report.figures.figure_words import is_wide, metric_axis, name_of, shown, span_of
from logbook_agent.report.figures.sweep import SPREAD
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.words import counted

_WIDE = 30.0
_NUMBERS = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)")
_WORD = {"max": "highest", "min": "lowest"}


def thread_figures(thread: Thread, answers: Sequence[Answer], metric: str | None) -> Iterator[Figure]:
    """Those of each primary metric, or of the one asked for."""
    declared = thread.header.metrics
    for one in (m for m in declared if m.primary or m.name == metric):
        if metric in (None, one.name):
            own = {
                FigureKind.BEST: functools.partial(best, thread, answers, one),
                FigureKind.NOISE: functools.partial(noise_floors, thread, one),
            }
            for kind, make in own.items():
                if (made := attempted(make, kind, entry=None, metric=one.name)) is not None:
                    yield made


def best(thread: Thread, answers: Sequence[Answer], metric: Metric) -> Figure | None:
    """The best case of every entry, and of all up to it, of the problem that most entries measured; None of fewer than
    two entries."""
    steps = course(thread, answers, metric) if metric.direction is not None else []
    if len(steps) < 2:
        return None
    values = [case.value for step in steps for case in (step.own, step.so_far)]
    y = metric_axis(metric.name, thread.header.metrics, steps[0].own.unit, values)
    names = tuple(step.own.entries[0] for step in steps)
    own = [_point(name, step.own, y.unit) for name, step in zip(names, steps, strict=True)]
    so_far = [_point(name, step.so_far, y.unit) for name, step in zip(names, steps, strict=True)]
    # The interval of the best stands with the entry that measured it.
    so_far = [
        PlotPoint(x=p.x, y=p.y, n=p.n, said=f"best so far, {p.said}", entry=step.so_far.entries[0])
        for p, step in zip(so_far, steps, strict=True)
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


def _point(name: str, case: BestCase, unit: str) -> PlotPoint:
    low, high = (case.low, case.high) if case.runs > 1 else (None, None)
    what, entry = case.label or name_of(case.flags or case.config), case.entries[0]
    said = f"{entry} {what}: {shown(case.value, case.metric, unit, low, high)}, n={case.runs}"
    return PlotPoint(x=name, y=case.value, low=low, high=high, n=case.runs, said=cut_line(said, 240), entry=entry)


def noise_floors(thread: Thread, metric: Metric) -> Figure | None:
    """How far the runs of each case scatter that has several; None where no case of two entries has."""
    found: list[tuple[str, str, float, int]] = []
    for summary in thread.counted:
        trials = [t for t in summary["measured"].get(metric.name, {}).get("trials", ()) if len(t["values"]) > 1]
        varied = _varied([t["config"] for t in trials])
        own: list[tuple[str, str, float, int]] = []
        for number, trial in enumerate(trials, start=1):
            floor = noise_floor([[value] for value in trial["values"]])
            if floor is not None and math.isfinite(floor):
                told = {name: trial["config"][name] for name in varied if name in trial["config"]} | trial["apart"]
                case = name_of(told) or (f"case {number}" if len(trials) > 1 else "")
                own.append((summary["id"], case, 100 * floor, len(trial["values"])))
        found += sorted(own, key=lambda one: _in_order(one[1]))
    pooled = pooled_floor([(floor / 100, runs) for _, _, floor, runs in found])
    if pooled is None or len(found) < 2:
        return None
    points = [
        PlotPoint(x=_name(entry, case), y=floor, n=runs, said=f"{_name(entry, case)}: runs scatter by {floor:.2f}%, "
                  f"n={runs}", entry=entry)
        for entry, case, floor, runs in found
    ]  # fmt: skip
    spread = span_of((n for *_, n in found), "run")
    level, entries = 100 * pooled.part, tuple(dict.fromkeys(entry for entry, *_ in found))
    said = f"pooled over {len(found)} cases: {level:.2f}%, {counted(pooled.freedom, 'degree')} of freedom"
    rule = (PlotPoint(x=points[0].x, y=level, n=len(found), said=said, entry=entries[0]),)
    name = metric_named(metric.name, thread.header.metrics).name
    return Figure(
        key=key("thread", "noise", metric.name),
        kind=FigureKind.NOISE,
        title=f"Noise floors of {name}",
        x=PlotAxis(name="case", names=tuple(dict.fromkeys(str(p.x) for p in points))),
        y=PlotAxis(name=f"scatter of {name} between runs", unit="%", log=is_wide([p.y for p in points], _WIDE)),
        series=(
            PlotSeries(name=f"pooled {level:.2f}%", shape="rule", points=rule, beside=True),
            PlotSeries(name="one configuration", shape="points", points=tuple(points)),
        ),
        note=f"{counted(len(found), 'case')} with {spread} each. Scatter: the standard deviation "
        "of the logarithms of a case's runs, without an interval; it includes any drift of the machine.",
        entries=entries,
    )


def _name(entry: str, case: str) -> str:
    return f"{entry} {case}" if case else entry


def _in_order(case: str) -> tuple[tuple[float, str], ...]:
    """As people sort names: numbers in them by their size."""
    parts = _NUMBERS.split(case)
    return tuple((float(part), "") if at % 2 else (math.inf, part) for at, part in enumerate(parts))


def _varied(configs: Sequence[Mapping[str, str]]) -> list[str]:
    keys = dict.fromkeys(name for config in configs for name in config)
    return [name for name in keys if len({config.get(name) for config in configs}) > 1]
