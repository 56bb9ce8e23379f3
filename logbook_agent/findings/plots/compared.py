"""What comparisons that an entry keeps measured: runs and ratios of pairs in order of time, controls beside cases, and
the effect over an axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from logbook_agent.findings.comparisons.told import delta_text, interval_text, verdict_text
from logbook_agent.findings.evidence.answers import Answer, Line
from logbook_agent.findings.evidence.compared import Compared, Numbers, runs_behind
from logbook_agent.findings.evidence.verdict import CLAIMS, Verdict, percent
from logbook_agent.findings.plots.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries
from logbook_agent.findings.plots.sweep import SPREAD
from logbook_agent.findings.plots.words import (
    NAME_CHARS,
    counted,
    key,
    metric_axis,
    name_of,
    number_axis,
    shown,
    span_of,
)
from logbook_agent.findings.tables.frame import RunKey
from logbook_agent.findings.trust import Answered
from logbook_agent.model.header import Metric
from logbook_agent.model.values import is_number, parse_scalar
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.times import duration

_SAID_CHARS = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgedCase:
    """One case of a comparison in one metric. `name` tells it from the others, and is empty of a single one."""

    name: str
    answer: Answer
    line: Line
    m: Compared

    @property
    def verdict(self) -> str:
        """`beneficial (fixed order)`, `not settled`, ..."""
        return f"{verdict_text(self.m)}{self.m.marked if not self.m.withheld_by else ''}"

    @property
    def sides(self) -> tuple[tuple[str, Numbers, list[RunKey]], tuple[str, Numbers, list[RunKey]]]:
        m, pair = self.m, self.line.pair
        return (
            (self.answer.base, m.base, runs_behind(pair.base, m.metric)),
            (self.answer.other, m.other, runs_behind(pair.other, m.metric)),
        )


def compared_figures(
    entry_id: str, kept: Sequence[Answered], declared: Sequence[Metric], metric: str | None
) -> Iterator[Figure]:
    """The figures of the comparisons of an entry; of one that cannot be answered there is none."""
    for one in kept:
        for name in _metrics(one, metric):
            judged = _judged(one, name)
            for made in (_controls, _crossover, _pairs, _ratios):
                if (figure := made(entry_id, one, judged, declared)) is not None:
                    yield figure


def _metrics(one: Answered, metric: str | None) -> list[str]:
    names = dict.fromkeys(m.metric for a in one.answers for line in a.lines for m in line.metrics)
    return [name for name in names if metric in (None, name)]


def _judged(one: Answered, metric: str) -> list[_JudgedCase]:
    several = len(one.answers) > 1
    found = []
    for answer in one.answers:
        for line in answer.lines:
            case = name_of(line.pair.case)
            name = " ".join(filter(None, [cut_line(answer.other, NAME_CHARS) if several else "", case]))
            found += [_JudgedCase(name=name, answer=answer, line=line, m=m) for m in line.metrics if m.metric == metric]
    return found


def _title(entry_id: str, judged: Sequence[_JudgedCase], what: str) -> str:
    """With the verdict where there is one case."""
    first = judged[0]
    sides = f"{cut_line(first.answer.base, 40)} → {cut_line(first.answer.other, 40)}"
    if len({one.answer.other for one in judged}) > 1:
        sides = f"against {cut_line(first.answer.base, 40)}"
    said = f": {delta_text(first.m)}, {first.verdict}" if len(judged) == 1 and first.m.ratio is not None else ""
    return f"{entry_id}: {first.m.metric} {what}, {sides}{said}"


def _finite(*values: float | None) -> bool:
    return all(value is not None and math.isfinite(value) for value in values)


def _unsettled(one: Answered) -> str:
    return f" This settles nothing, because it rests on {' and '.join(one.uncounted)}." if one.uncounted else ""


# -- in order of time --------------------------------------------------------------------------------


def _pairs(entry_id: str, one: Answered, judged: Sequence[_JudgedCase], declared: Sequence[Metric]) -> Figure | None:
    """Every run of both sides in the order they were started, so that a drift of the machine shows."""
    judged = [j for j in judged if min(j.m.base.runs, j.m.other.runs) > 1]
    order = {run: at for at, run in enumerate(sorted({r for j in judged for _, _, runs in j.sides for r in runs}), 1)}
    if not order:
        return None
    first = judged[0].m
    values = [v for j in judged for side in (j.m.base, j.m.other) for v in side.values if math.isfinite(v)]
    y = metric_axis(first.metric, declared, first.unit, values)
    series: list[PlotSeries] = []
    for j in judged:
        for role, (side, numbers, runs) in zip(("base", "other"), j.sides, strict=True):
            name = " ".join(filter(None, [cut_line(side, NAME_CHARS), name_of(j.line.pair.case)]))
            points = tuple(
                PlotPoint(
                    x=order[run],
                    y=value,
                    said=cut_line(
                        f"{run[1]}/{run[2]} {name}, run {order[run]} in time order ({run[0]}): "
                        f"{shown(value, first.metric, y.unit)}",
                        _SAID_CHARS,
                    ),
                    entry=run[1],
                )
                for run, value in zip(runs, numbers.values, strict=True)
                if math.isfinite(value)
            )
            if points and all(name != s.name for s in series):
                series.append(PlotSeries(name=name, shape="line", points=points, beside=role == "base"))
    levels = dict.fromkeys(level.text() for j in judged for s in (j.m.base, j.m.other) if (level := s.level))
    changed = "".join(f"; {text}" for text in levels)
    return Figure(
        key=key(entry_id, "pairs", first.metric),
        kind=FigureKind.PAIRS,
        title=_title(entry_id, judged, "run by run"),
        x=PlotAxis(name="run, in time order"),
        y=y,
        series=tuple(series),
        note=f"{counted(len(order), 'run')}{_lasting(list(order))}; each mark is the median of the samples of one run"
        f"{changed}.{_unsettled(one)}",
        entries=one.asked.entries,
        entry=entry_id,
    )


def _lasting(runs: Sequence[RunKey]) -> str:
    """Over which time, by when the first and the last were started."""
    try:
        seconds = (datetime.fromisoformat(runs[-1][0]) - datetime.fromisoformat(runs[0][0])).total_seconds()
    except (ValueError, TypeError):
        return ""
    return f", started within {duration(seconds)}" if seconds > 0 else ""


def _ratios(entry_id: str, one: Answered, judged: Sequence[_JudgedCase], declared: Sequence[Metric]) -> Figure | None:
    """The change in every pair in order of time, beside the interval of the verdict."""
    judged = [j for j in judged if j.m.interleaved]
    order = {at: n for n, at in enumerate(sorted({at for j in judged for at, _, _ in _changes(j)}), 1)}
    if not order:
        return None
    # A single pair has no course.
    if len(order) < 2:
        return None
    metric, count = judged[0].m.metric, len(order)
    series = []
    for j in judged:
        points = tuple(
            PlotPoint(
                x=order[at],
                y=change,
                said=cut_line(
                    " ".join(filter(None, [f"{at[1]}/{at[2]} pair {order[at]}", j.name]))
                    + f": {change:+.2f}% ({said})",
                    _SAID_CHARS,
                ),
                entry=at[1],
            )
            for at, change, said in _changes(j)
        )
        if points:
            series.append(PlotSeries(name=j.name or "pairs", shape="line", points=points))
    reach = 100 * one.asked.minimum_effect
    ends = (0.5, count + 0.5)
    extra = []
    effect = judged[0].m.judgement.effect if len(judged) == 1 and judged[0].m.judgement is not None else None
    if effect is not None and _finite(effect.ratio):
        middle = 100 * (effect.ratio - 1)
        said = f"{entry_id} {_change_said(judged[0])}"
        if effect.interval is not None and _finite(effect.interval.low, effect.interval.high):
            low, high = (100 * (end - 1) for end in (effect.interval.low, effect.interval.high))
            band = tuple(PlotPoint(x=x, y=middle, low=low, high=high, n=count, said=said, entry=entry_id) for x in ends)
            extra.append(
                PlotSeries(name=f"{percent(effect.interval.level)} interval of the change", shape="band", points=band)
            )
        rule = (PlotPoint(x=ends[0], y=middle, n=count, said=said, entry=entry_id),)
        extra.append(PlotSeries(name=f"change {middle:+.2f}%", shape="rule", points=rule))
    if reach:
        said = f"changes within the minimum effect of {reach:g}% do not matter"
        band = tuple(PlotPoint(x=x, y=0.0, low=-reach, high=reach, said=said, entry=entry_id) for x in ends)
        name = f"minimum effect {reach:g}%"
        extra.insert(0, PlotSeries(name=name, shape="band", points=band, beside=True))
    zero = PlotPoint(x=ends[0], y=0.0, said="no change", entry=entry_id)
    extra.insert(0, PlotSeries(name="no change", shape="rule", points=(zero,), beside=True))
    verdicts = "" if len(judged) == 1 else f" {_verdicts(judged)}."
    return Figure(
        key=key(entry_id, "ratios", metric),
        kind=FigureKind.RATIOS,
        title=_title(entry_id, judged, "pair by pair"),
        x=PlotAxis(name="pair, in time order"),
        y=PlotAxis(name=f"change of {metric}", unit="%"),
        series=(*extra, *series),
        note=f"{counted(count, 'pair')}, one mark each; {_band(judged)}.{verdicts}{_unsettled(one)}",
        entries=one.asked.entries,
        entry=entry_id,
    )


def _band(judged: Sequence[_JudgedCase]) -> str:
    if len(judged) > 1:
        return "the crossover plot shows the interval of each case"
    effect = judged[0].m.judgement.effect if judged[0].m.judgement is not None else None
    if effect is None or effect.interval is None:
        return "too few for an interval"
    test = f", p = {effect.p_value:.2g} by signed ranks" if effect.p_value is not None else ""
    return f"band: {percent(effect.interval.level)} interval of the change by pairs{test}"


def _changes(j: _JudgedCase) -> list[tuple[RunKey, float, str]]:
    """Of every pair the run that came first, the change in percent, and the values of both sides."""
    if j.m.layout is None:
        return []
    (_, base, first), (_, other, last) = j.sides
    found = []
    for a, b in j.m.layout.pairs:
        change = 100 * (other.values[b] / base.values[a] - 1)
        if math.isfinite(change):
            values = (shown(v, j.m.metric) for v in (base.values[a], other.values[b]))
            found.append((min(first[a], last[b]), change, " → ".join(values)))
    return found


def _verdicts(judged: Sequence[_JudgedCase], most: int = 6) -> str:
    said = [f"{j.name or j.answer.other}: {delta_text(j.m)}, {j.verdict}" for j in judged]
    more = len(said) - most
    return "; ".join(said[:most]) + (f"; and {more} more" if more > 0 else "")


# -- over cases --------------------------------------------------------------------------------------


def _controls(entry_id: str, one: Answered, judged: Sequence[_JudgedCase], declared: Sequence[Metric]) -> Figure | None:
    """Every case beside its control: the same case with the base's value. None of a single case."""
    judged = [j for j in judged if _finite(j.m.base.median, j.m.other.median)]
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
        title=_title(entry_id, judged, "against its controls"),
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
        f"; {SPREAD}. {_verdicts(judged)}.{_unsettled(one)}",
        entries=one.asked.entries,
        entry=entry_id,
    )


def _side_point(entry_id: str, j: _JudgedCase, side: str, numbers: Numbers, x: float | str, unit: str) -> PlotPoint:
    low, high = (numbers.low, numbers.high) if numbers.runs > 1 and _finite(numbers.low, numbers.high) else (None, None)
    value = numbers.median or 0.0
    said = f"{entry_id} {side} {j.name}: {shown(value, j.m.metric, unit, low, high)}, n={numbers.runs}; {j.verdict}"
    return PlotPoint(x=x, y=value, low=low, high=high, n=numbers.runs, said=cut_line(said, _SAID_CHARS), entry=entry_id)


def _crossover(
    entry_id: str, one: Answered, judged: Sequence[_JudgedCase], declared: Sequence[Metric]
) -> Figure | None:
    """The effect over an axis, with the interval of each case, and between which values it turns. None of one case."""
    judged = [j for j in judged if _finite(j.m.ratio)]
    axis = _over(judged)
    if axis is None:
        return None
    metric = judged[0].m.metric
    found: dict[str, list[tuple[float | str, _JudgedCase]]] = {}
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
        title=_title(entry_id, judged, f"over {axis.axis.name}"),
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
        note=". ".join(filter(None, [_intervals(judged), crossing, _verdicts(judged)])) + f".{_unsettled(one)}",
        entries=one.asked.entries,
        entry=entry_id,
    )


def _ends(axis: _Along) -> tuple[float | str, float | str]:
    if axis.axis.names:
        return axis.axis.names[0], axis.axis.names[-1]
    return min(axis.values), max(axis.values)


def _intervals(judged: Sequence[_JudgedCase]) -> str:
    basis = span_of((len(j.m.layout.pairs) if j.m.interleaved and j.m.layout else j.m.other.runs for j in judged),
                    "pair" if all(j.m.interleaved for j in judged) else "run")  # fmt: skip
    effects = [j.m.judgement.effect for j in judged if j.m.judgement is not None and j.m.judgement.effect is not None]
    levels = {percent(e.interval.level) for e in effects if e.interval is not None}
    bars = f"bars: {' or '.join(sorted(levels))} interval of the change" if levels else "too few for an interval"
    return f"{basis} per case; {bars}"


def _effect(entry_id: str, x: float | str, j: _JudgedCase) -> PlotPoint:
    effect = j.m.judgement.effect if j.m.judgement is not None else None
    interval = effect.interval if effect is not None else None
    low = high = None
    if interval is not None and _finite(interval.low, interval.high):
        low, high = 100 * (interval.low - 1), 100 * (interval.high - 1)
    return PlotPoint(
        x=x,
        y=100 * ((j.m.ratio or 1.0) - 1),
        low=low,
        high=high,
        n=len(j.m.layout.pairs) if j.m.interleaved and j.m.layout is not None else j.m.other.runs,
        said=cut_line(f"{entry_id} {_change_said(j)}", _SAID_CHARS),
        entry=entry_id,
    )


def _change_said(j: _JudgedCase) -> str:
    """`int8 topk=2: +5.99% (+5.68% to +6.29%), 6 pairs, beneficial`."""
    count = len(j.m.layout.pairs) if j.m.interleaved and j.m.layout is not None else 0
    basis = counted(count, "pair") if count else f"{j.m.base.runs} and {j.m.other.runs} runs"
    span = f" ({interval_text(j.m)})" if interval_text(j.m) else ""
    name = " ".join(filter(None, [cut_line(j.answer.other, NAME_CHARS), name_of(j.line.pair.case)]))
    return f"{name}: {delta_text(j.m)}{span}, {basis}, {j.verdict}"


def _turns(name: str, axis: str, own: Sequence[tuple[float | str, _JudgedCase]]) -> Iterator[str]:
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

    def place(self, j: _JudgedCase) -> float | str:
        if self.by == "name":
            return _case_name(j)
        return float(next(iter(j.line.pair.case.values())))


def _case_name(j: _JudgedCase) -> str:
    return name_of(j.line.pair.case) or cut_line(j.answer.other, NAME_CHARS)


def _over(judged: Sequence[_JudgedCase]) -> _Along | None:
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
