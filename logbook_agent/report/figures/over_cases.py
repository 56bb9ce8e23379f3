"""A comparison over its cases: each beside its control, and the effect with where it turns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome, Side
from logbook_agent.model.header import Metric
from logbook_agent.model.values import is_number, parse_scalar
from logbook_agent.report.figures.by_pair import (
    SAID_CHARS,
    findings_text,
    no_change,
    percent_of,
    said,
    side_name,
    title_of,
)
from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries, key
from logbook_agent.report.figures.figure_words import metric_axis, name_of, number_axis, shown, span_of
from logbook_agent.report.figures.over_axis import SPREAD
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.natural_order import in_order


def controls(answer: Answer, found: Sequence[Finding], declared: Sequence[Metric]) -> Figure | None:
    """Every case beside its control: the same case with the base's value. None of a single case."""
    axis = _over(answer, found)
    if axis is None:
        return None
    first, base = found[0], answer.question.base
    values = [side.median for f in found for side in (f.base, f.other) if side.median is not None]
    y = metric_axis(first.metric, declared, first.unit, values)
    series: dict[str, dict[float | str, PlotPoint]] = {}
    for f in found:
        for name, side in ((base, f.base), (f.side, f.other)):
            point = _side_point(answer, f, name, side, axis.place(answer, f), y.unit)
            series.setdefault(name, {}).setdefault(point.x, point)
    return Figure(
        key=key(answer.entry, "controls", first.metric),
        kind=FigureKind.CONTROLS,
        title=title_of(answer, found, "against its controls"),
        x=axis.axis,
        y=y,
        series=tuple(
            PlotSeries(
                name=f"{side_name(answer, name)} (control)" if name == base else side_name(answer, name),
                shape="points" if axis.axis.names else "line",
                points=tuple(points.values()),
                beside=name == base,
            )
            for name, points in series.items()
        ),
        note=f"Medians over {span_of((f.pairs for f in found), 'run')} on each side; {SPREAD}. "
        f"{findings_text(answer, found)}.",
        entries=answer.entries,
        entry=answer.entry,
    )


def _side_point(answer: Answer, f: Finding, name: str, side: Side, x: float | str, unit: str) -> PlotPoint:
    low, high = (side.low, side.high) if side.runs > 1 else (None, None)
    value = side.median or 0.0
    number = shown(value, f.metric, unit, low, high)
    text = f"{answer.entry} {side_name(answer, name)} {name_of(f.case)}: {number}, n={side.runs}; {f.outcome.value}"
    return PlotPoint(x=x, y=value, low=low, high=high, n=side.runs, said=cut_line(text, SAID_CHARS), entry=answer.entry)


def crossover(answer: Answer, found: Sequence[Finding], _declared: Sequence[Metric]) -> Figure | None:
    """The effect over an axis, with the interval of each case, and between which values it turns. None of one case."""
    axis = _over(answer, found)
    if axis is None:
        return None
    metric, is_numeric = found[0].metric, not axis.axis.names
    series: dict[str, list[tuple[float | str, Finding]]] = {}
    for f in found:
        series.setdefault(side_name(answer, f.side), []).append((axis.place(answer, f), f))
    turns = [t for name, own in series.items() if is_numeric for t in _turns(name, axis.axis.name, own)]
    crossing = "; ".join(turns) if turns else "No crossover is settled" if is_numeric else ""
    levels = {f"{f.level:.0%}" for f in found if f.low is not None}
    bars = f"bars: {' or '.join(sorted(levels))} interval of the change" if levels else "too few for an interval"
    pairs = f"{span_of((f.pairs for f in found), 'pair')} per case; {bars}"
    return Figure(
        key=key(answer.entry, "crossover", metric),
        kind=FigureKind.CROSSOVER,
        title=title_of(answer, found, f"over {axis.axis.name}"),
        x=axis.axis,
        y=PlotAxis(name=f"change of {metric}", unit="%"),
        series=(
            *no_change(answer, axis.ends),
            *(
                PlotSeries(
                    name=name,
                    shape="line" if is_numeric else "points",
                    points=tuple(_effect(answer, x, f) for x, f in own),
                )
                for name, own in series.items()
            ),
        ),
        note=". ".join(filter(None, [pairs, crossing, findings_text(answer, found)])) + ".",
        entries=answer.entries,
        entry=answer.entry,
    )


def _effect(answer: Answer, x: float | str, f: Finding) -> PlotPoint:
    low, high = percent_of(f.low), percent_of(f.high)
    y = percent_of(f.change) or 0.0
    return PlotPoint(x=x, y=y, low=low, high=high, n=f.pairs, said=said(answer, f), entry=answer.entry)


def _turns(name: str, axis: str, own: Sequence[tuple[float | str, Finding]]) -> Iterator[str]:
    """Between which values a settled gain becomes a settled loss, or the other way round. What is settled to make no
    difference, or not at all, lies between them."""
    words = {Outcome.BETTER: "a gain", Outcome.WORSE: "a loss"}
    claims = [(float(x), f.outcome) for x, f in sorted(own, key=lambda one: float(one[0])) if f.outcome in words]
    for (x, before), (then, after) in itertools.pairwise(claims):
        if before is not after:
            yield f"{name} turns from {words[before]} to {words[after]} between {axis}={x:g} and {then:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Along:
    """The axis that cases lie on: one key where that alone tells them apart and has numbers, else their names."""

    axis: PlotAxis
    values: tuple[float, ...] = ()

    @property
    def ends(self) -> tuple[float | str, float | str]:
        if self.axis.names:
            return self.axis.names[0], self.axis.names[-1]
        return min(self.values), max(self.values)

    def place(self, answer: Answer, f: Finding) -> float | str:
        return _case_name(answer, f) if self.axis.names else float(next(iter(f.case.values())))


def _case_name(answer: Answer, f: Finding) -> str:
    return name_of(f.case) or side_name(answer, f.side)


def _over(answer: Answer, found: Sequence[Finding]) -> _Along | None:
    """None of fewer than two cases."""
    names = tuple(in_order(_case_name(answer, f) for f in found))
    if len(names) < 2:
        return None
    keys = {tuple(f.case) for f in found}
    if len(keys) == 1 and len(next(iter(keys))) == 1:
        (name,) = next(iter(keys))
        values = [parse_scalar(f.case[name]) for f in found]
        if all(is_number(v) and not isinstance(v, bool) and math.isfinite(float(str(v))) for v in values):
            numbers = tuple(float(str(v)) for v in values)
            return _Along(axis=number_axis(name, numbers), values=numbers)
    shared = next(iter(keys)) if len(keys) == 1 else ()
    return _Along(axis=PlotAxis(name=", ".join(shared) or "case", names=names))
