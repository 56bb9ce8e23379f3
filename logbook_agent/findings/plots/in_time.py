"""What a comparison measured in order of time: its runs, and the change in each pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from logbook_agent.findings.evidence.verdict import percent
from logbook_agent.findings.plots.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries
from logbook_agent.findings.plots.judged import (
    SAID_CHARS,
    JudgedCase,
    change_said,
    finite,
    title_of,
    unjudged,
    unsettled,
    verdicts_of,
)
from logbook_agent.findings.plots.undrawn import undrawn
from logbook_agent.findings.plots.words import (
    NAME_CHARS,
    counted,
    key,
    metric_axis,
    name_of,
    shown,
)
from logbook_agent.findings.tables.frame import RunKey
from logbook_agent.findings.trust import Answered
from logbook_agent.model.header import Metric
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.times import duration


def pairs(entry_id: str, one: Answered, judged: Sequence[JudgedCase], declared: Sequence[Metric]) -> Figure | None:
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
                        SAID_CHARS,
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
        title=title_of(entry_id, judged, "run by run"),
        x=PlotAxis(name="run, in time order"),
        y=y,
        series=tuple(series),
        note=f"{counted(len(order), 'run')}{_lasting(list(order))}; each mark is the median of the samples of one run"
        f"{changed}.{unsettled(one)}",
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


def ratios(entry_id: str, one: Answered, judged: Sequence[JudgedCase], declared: Sequence[Metric]) -> Figure | None:
    """The change in every pair in order of time, beside the interval of the verdict."""
    paired = [j for j in judged if j.m.interleaved]
    judged = [j for j in paired if not unjudged(j)]
    if paired and not judged:
        why = "; ".join(dict.fromkeys(filter(None, map(unjudged, paired))))
        return undrawn(FigureKind.RATIOS, why, entry=entry_id, metric=paired[0].m.metric)
    left = "".join(f" Left out: {j.name}, {unjudged(j)}." for j in paired if unjudged(j))
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
                    SAID_CHARS,
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
    if effect is not None and finite(effect.ratio):
        middle = 100 * (effect.ratio - 1)
        said = f"{entry_id} {change_said(judged[0])}"
        if effect.interval is not None and finite(effect.interval.low, effect.interval.high):
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
    verdicts = "" if len(judged) == 1 else f" {verdicts_of(judged)}."
    return Figure(
        key=key(entry_id, "ratios", metric),
        kind=FigureKind.RATIOS,
        title=title_of(entry_id, judged, "pair by pair"),
        x=PlotAxis(name="pair, in time order"),
        y=PlotAxis(name=f"change of {metric}", unit="%"),
        series=(*extra, *series),
        note=f"{counted(count, 'pair')}, one mark each; {_band(judged)}.{verdicts}{left}{unsettled(one)}",
        entries=one.asked.entries,
        entry=entry_id,
    )


def _band(judged: Sequence[JudgedCase]) -> str:
    if len(judged) > 1:
        return "the crossover plot shows the interval of each case"
    effect = judged[0].m.judgement.effect if judged[0].m.judgement is not None else None
    if effect is None or effect.interval is None:
        return "too few for an interval"
    test = f", p = {effect.p_value:.2g} by signed ranks" if effect.p_value is not None else ""
    return f"band: {percent(effect.interval.level)} interval of the change by pairs{test}"


def _changes(j: JudgedCase) -> list[tuple[RunKey, float, str]]:
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
