"""A comparison over its cases: each beside its control, and the effect with where it turns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from logbook_agent.findings.evidence.compared import Numbers
from logbook_agent.findings.evidence.verdict import CLAIMS, Verdict, percent
from logbook_agent.findings.plots.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries
from logbook_agent.findings.plots.judged import (
    SAID_CHARS,
    JudgedCase,
    change_said,
    finite,
    title_of,
    unsettled,
    verdicts_of,
)
from logbook_agent.findings.plots.sweep import SPREAD
from logbook_agent.findings.plots.words import (
    NAME_CHARS,
    key,
    metric_axis,
    name_of,
    number_axis,
    shown,
    span_of,
)
from logbook_agent.findings.trust import Answered
from logbook_agent.model.header import Metric
from logbook_agent.model.values import is_number, parse_scalar
from logbook_agent.text.markdown import cut_line


def controls(entry_id: str, one: Answered, judged: Sequence[JudgedCase], declared: Sequence[Metric]) -> Figure | None:
    """Every case beside its control: the same case with the base's value. None of a single case."""
    judged = [j for j in judged if finite(j.m.base.median, j.m.other.median)]
    axis = _over(judged)
    if one.asked.axis is None or axis is None:
        return None
    metric = judged[0].m.metric
    values = [value for j in judged for side in (j.m.base, j.m.other) if (value := side.median) is not None]
    y = metric_axis(metric, declared, judged[0].m.unit, values)
    found: dict[tuple[bool, str], dict[float | str, PlotPoint]] = {}
    for j in judged:
        for beside, (side, numbers, _) in zip((True, False), j.sides, strict=True):
            x = axis.place(j)
            point = _side_point(entry_id, j, side, numbers, x, y.unit)
            found.setdefault((beside, cut_line(side, NAME_CHARS)), {}).setdefault(x, point)
    return Figure(
        key=key(entry_id, "controls", metric),
        kind=FigureKind.CONTROLS,
        title=title_of(entry_id, judged, "against its controls"),
        x=axis.axis,
        y=y,
        series=tuple(
            PlotSeries(
                name=f"{name} (control)" if beside else name,
                shape="points" if axis.axis.names else "line",
                points=tuple(points.values()),
                beside=beside,
            )
            for (beside, name), points in found.items()
        ),
        note=f"Medians over {span_of((s.runs for j in judged for s in (j.m.base, j.m.other)), 'run')} on each side"
        f"; {SPREAD}. {verdicts_of(judged)}.{unsettled(one)}",
        entries=one.asked.entries,
        entry=entry_id,
    )


def _side_point(entry_id: str, j: JudgedCase, side: str, numbers: Numbers, x: float | str, unit: str) -> PlotPoint:
    low, high = (numbers.low, numbers.high) if numbers.runs > 1 and finite(numbers.low, numbers.high) else (None, None)
    value = numbers.median or 0.0
    said = f"{entry_id} {side} {j.name}: {shown(value, j.m.metric, unit, low, high)}, n={numbers.runs}; {j.verdict}"
    return PlotPoint(x=x, y=value, low=low, high=high, n=numbers.runs, said=cut_line(said, SAID_CHARS), entry=entry_id)


def crossover(entry_id: str, one: Answered, judged: Sequence[JudgedCase], declared: Sequence[Metric]) -> Figure | None:
    """The effect over an axis, with the interval of each case, and between which values it turns. None of one case."""
    judged = [j for j in judged if finite(j.m.ratio)]
    axis = _over(judged)
    if axis is None:
        return None
    metric = judged[0].m.metric
    found: dict[str, list[tuple[float | str, JudgedCase]]] = {}
    for j in judged:
        found.setdefault(cut_line(j.answer.other, NAME_CHARS), []).append((axis.place(j), j))
    ends = _ends(axis)
    zero = tuple(PlotPoint(x=x, y=0.0, said="no change", entry=entry_id) for x in ends[:1])
    extra = [PlotSeries(name="no change", shape="rule", points=zero, beside=True)]
    reach = 100 * one.asked.minimum_effect
    if reach:
        said = f"changes within the minimum effect of {reach:g}% do not matter"
        band = tuple(PlotPoint(x=x, y=0.0, low=-reach, high=reach, said=said, entry=entry_id) for x in ends)
        extra.append(PlotSeries(name=f"minimum effect {reach:g}%", shape="band", points=band, beside=True))
    numeric = not axis.axis.names
    turns = [t for name, own in found.items() if numeric for t in _turns(name, axis.axis.name, own)]
    crossing = "; ".join(turns) if turns else "No crossover is settled" if numeric else ""
    return Figure(
        key=key(entry_id, "crossover", metric),
        kind=FigureKind.CROSSOVER,
        title=title_of(entry_id, judged, f"over {axis.axis.name}"),
        x=axis.axis,
        y=PlotAxis(name=f"change of {metric}", unit="%"),
        series=(
            *extra,
            *(
                PlotSeries(
                    name=name,
                    shape="line" if numeric else "points",
                    points=tuple(_effect(entry_id, x, j) for x, j in own),
                )
                for name, own in found.items()
            ),
        ),
        note=". ".join(filter(None, [_intervals(judged), crossing, verdicts_of(judged)])) + f".{unsettled(one)}",
        entries=one.asked.entries,
        entry=entry_id,
    )


def _ends(axis: _Along) -> tuple[float | str, float | str]:
    if axis.axis.names:
        return axis.axis.names[0], axis.axis.names[-1]
    return min(axis.values), max(axis.values)


def _intervals(judged: Sequence[JudgedCase]) -> str:
    basis = span_of((len(j.m.layout.pairs) if j.m.interleaved and j.m.layout else j.m.other.runs for j in judged),
                    "pair" if all(j.m.interleaved for j in judged) else "run")  # fmt: skip
    effects = [j.m.judgement.effect for j in judged if j.m.judgement is not None and j.m.judgement.effect is not None]
    levels = {percent(e.interval.level) for e in effects if e.interval is not None}
    bars = f"bars: {' or '.join(sorted(levels))} interval of the change" if levels else "too few for an interval"
    return f"{basis} per case; {bars}"


def _effect(entry_id: str, x: float | str, j: JudgedCase) -> PlotPoint:
    effect = j.m.judgement.effect if j.m.judgement is not None else None
    interval = effect.interval if effect is not None else None
    low = high = None
    if interval is not None and finite(interval.low, interval.high):
        low, high = 100 * (interval.low - 1), 100 * (interval.high - 1)
    return PlotPoint(
        x=x,
        y=100 * ((j.m.ratio or 1.0) - 1),
        low=low,
        high=high,
        n=len(j.m.layout.pairs) if j.m.interleaved and j.m.layout is not None else j.m.other.runs,
        said=cut_line(f"{entry_id} {change_said(j)}", SAID_CHARS),
        entry=entry_id,
    )


def _turns(name: str, axis: str, own: Sequence[tuple[float | str, JudgedCase]]) -> Iterator[str]:
    """Between which values a settled gain becomes a settled loss, or the other way round. What is settled to make no
    difference, or not at all, lies between them."""
    claims = [
        (x, j.m.judgement.verdict)
        for x, j in sorted(((float(place), j) for place, j in own), key=lambda one: one[0])
        if j.m.judgement is not None and not j.m.withheld_by and j.m.judgement.verdict in CLAIMS
    ]
    for (x, before), (then, after) in itertools.pairwise(claims):
        if before is not after:
            words = {Verdict.BENEFICIAL: "a gain", Verdict.REGRESSIVE: "a loss"}
            yield f"{name} turns from {words[before]} to {words[after]} between {axis}={x:g} and {then:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Along:
    """The axis that cases lie on: one key where that alone tells them apart and has numbers, else their names."""

    axis: PlotAxis
    values: tuple[float, ...]
    by: Literal["number", "name"]

    def place(self, j: JudgedCase) -> float | str:
        if self.by == "name":
            return _case_name(j)
        return float(next(iter(j.line.pair.case.values())))


def _case_name(j: JudgedCase) -> str:
    return name_of(j.line.pair.case) or cut_line(j.answer.other, NAME_CHARS)


def _over(judged: Sequence[JudgedCase]) -> _Along | None:
    """None of fewer than two cases."""
    cases = [j.line.pair.case for j in judged]
    names = tuple(dict.fromkeys(map(_case_name, judged)))
    if len(names) < 2:
        return None
    keys = {tuple(case) for case in cases}
    if len(keys) == 1 and len(next(iter(keys))) == 1:
        (name,) = next(iter(keys))
        found = [parse_scalar(case[name]) for case in cases]
        if all(is_number(v) and not isinstance(v, bool) and math.isfinite(float(str(v))) for v in found):
            values = tuple(float(str(v)) for v in found)
            return _Along(axis=number_axis(name, values), values=values, by="number")
    shared = next(iter(keys)) if len(keys) == 1 else ()
    return _Along(axis=PlotAxis(name=", ".join(shared) or "case", names=names), values=(), by="name")
