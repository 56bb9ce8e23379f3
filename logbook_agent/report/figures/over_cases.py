"""A comparison: its pairs in order of time, the effect in each of its cases, and where it turns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.findings.comparison.synopsis import cases_of
from logbook_agent.model.header import Metric
from logbook_agent.model.values import is_number, parse_scalar
from logbook_agent.report.figures.figure import (
    NAME_CHARS,
    Figure,
    FigureKind,
    PlotAxis,
    PlotPoint,
    PlotSeries,
    Shape,
    key,
    metric_axis,
    name_of,
    number_axis,
    shown,
    span_of,
)
from logbook_agent.text.commands.flags import in_order
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.phrases import assignments

SAID_CHARS = 240


def side_name(answer: Answer, side: str) -> str:
    return cut_line(words.label(answer, side), NAME_CHARS)


def title_of(answer: Answer, found: Sequence[Finding], what: str) -> str:
    """The title of a figure: the metric, what is shown of it, the sides, and the result of a single finding."""
    sides = dict.fromkeys(side_name(answer, f.side) for f in found)
    base = side_name(answer, answer.question.base)
    text = f"{answer.entry}: {found[0].metric} {what}, "
    text += f"{base} → {next(iter(sides))}" if len(sides) == 1 else f"against {base}"
    return text + (f": {words.signed(found[0].change)}, {found[0].outcome.value}" if len(found) == 1 else "")


def pairs(answer: Answer, found: Sequence[Finding], declared: Sequence[Metric]) -> Figure | None:
    """The runs of both sides pair by pair, so that a drift of the machine shows. None of a single pair."""
    found = [f for f in found if f.pairs > 1]
    if not found:
        return None
    first = found[0]
    values = [value for f in found for side in (f.base, f.other) for value in side.values]
    y = metric_axis(first.metric, declared, first.unit, values)
    series: dict[str, PlotSeries] = {}
    for f in found:
        for name, side in ((answer.question.base, f.base), (f.side, f.other)):
            named = " ".join(filter(None, [side_name(answer, name), name_of(f.case)]))
            points = tuple(
                PlotPoint(
                    x=number,
                    y=value,
                    said=cut_line(
                        f"{answer.entry} {named}, pair {number}: {shown(value, f.metric, y.unit)}", SAID_CHARS
                    ),
                    entry=answer.entry,
                )
                for number, value in enumerate(side.values, start=1)
            )
            is_base = name == answer.question.base
            series.setdefault(named, PlotSeries(name=named, shape="line", points=points, beside=is_base))
    return Figure(
        key=key(answer.entry, "pairs", first.metric),
        kind=FigureKind.PAIRS,
        title=title_of(answer, found, "run by run"),
        x=PlotAxis(name="pair, in time order"),
        y=y,
        series=tuple(series.values()),
        note=f"{span_of((f.pairs for f in found), 'pair')}; each mark is the median of the samples of one run.",
        entries=(answer.entry,),
        entry=answer.entry,
    )


# Where changes differ by this factor, their axis is compressed towards its ends.
_BENT = 20.0


def crossover(answer: Answer, found: Sequence[Finding]) -> Figure | None:
    """The effect over an axis, with the interval of each case, and between which values it turns. None of one case."""
    names = [name_of(f.case) or side_name(answer, f.side) for f in found]
    if len({*names}) < 2:
        return None
    metric, numbers, keys = found[0].metric, _numbers(found), {tuple(f.case) for f in found}
    if numbers is not None:
        axis = number_axis(next(iter(found[0].case)), numbers)
    else:
        shared = ", ".join(next(iter(keys))) if len(keys) == 1 else ""
        axis = PlotAxis(name=shared or "case", names=tuple(in_order(names)))
    series: dict[str, list[PlotPoint]] = {}
    places: Sequence[float | str] = numbers or names
    for place, f in zip(places, found, strict=True):
        series.setdefault(side_name(answer, f.side), []).append(_effect(answer, place, f))
    ends: tuple[float | str, ...] = (
        (min(numbers), max(numbers)) if numbers is not None else (axis.names[0], axis.names[-1])
    )
    turns = [*_turns(answer, axis.name, found, numbers)] if numbers is not None else None
    crossing = "" if turns is None else "; ".join(turns) or "No crossover is settled"
    levels = {f"{f.level:.0%}" for f in found if f.low is not None}
    bars = f"bars: {' or '.join(sorted(levels))} interval of the change" if levels else "too few for an interval"
    pairs = f"{span_of((f.pairs for f in found), 'pair')} per case; {bars}"
    shape: Shape = "points" if numbers is None else "line"
    return Figure(
        key=key(answer.entry, "crossover", metric),
        kind=FigureKind.CROSSOVER,
        title=title_of(answer, found, f"over {axis.name}"),
        x=axis,
        y=PlotAxis(name=f"change of {metric}", unit="%"),
        series=(
            *_no_change(answer, ends),
            *(PlotSeries(name=name, shape=shape, points=tuple(points)) for name, points in series.items()),
        ),
        note=". ".join(filter(None, [pairs, crossing])) + ".",
        entries=(answer.entry,),
        entry=answer.entry,
    )


def forest(answers: Sequence[Answer], metric: str | None) -> Figure | None:
    """The change in each side and case of every comparison, by its first metric or the one asked for; None of fewer
    than two."""
    rows = [
        (answer, f)
        for answer in reversed(answers)
        for case in cases_of(answer)
        for f in [one for one in case if metric in (None, one.metric)][:1]
        if f.change is not None and math.isfinite(f.change)
    ]
    if len(rows) < 2:
        return None
    names = [f"{answer.entry} {against(answer, f)}: {f.metric}" for answer, f in rows]
    series: dict[str, list[PlotPoint]] = {}
    for name, (answer, f) in zip(names, rows, strict=True):
        series.setdefault(f.outcome.value, []).append(_effect(answer, name, f))
    points = [point for own in series.values() for point in own]
    # A change below the minimum effect is as good as none.
    least = max(100 * min(answer.question.minimum_effect for answer, _ in rows), min(abs(p.y) for p in points) or 0.1)
    is_wide = max(abs(end) for p in points for end in (p.y, p.low or 0.0, p.high or 0.0)) >= _BENT * least
    none = PlotPoint(x=names[0], y=0.0, said="no change", entry=rows[0][0].entry)
    return Figure(
        key=key("thread", "forest", metric or ""),
        kind=FigureKind.FOREST,
        title=f"Changes of {metric}" if metric else "Changes in every comparison",
        x=PlotAxis(name="comparison", names=tuple(dict.fromkeys(names))),
        y=PlotAxis(name="change", unit="%", bend=least if is_wide else 0.0),
        series=(
            PlotSeries(name="no change", shape="rule", points=(none,), beside=True),
            *(PlotSeries(name=name, shape="points", points=tuple(points)) for name, points in series.items()),
        ),
        note="Change of A relative to B in “A against B”; bars: interval of the change"
        + ("; the axis is compressed towards its ends." if is_wide else "."),
        entries=tuple(dict.fromkeys(answer.entry for answer, _ in rows)),
    )


def against(answer: Answer, f: Finding) -> str:
    """`int8 against none at topk=4`."""
    where = f" at {assignments(f.case)}" if f.case else ""
    return f"{words.subject(answer, f.side)} against {words.label(answer, answer.question.base)}{where}"


def _numbers(found: Sequence[Finding]) -> list[float] | None:
    """The values of cases that one key tells apart by numbers; None of others."""
    values = [parse_scalar(value) for f in found for value in f.case.values()]
    if len({tuple(f.case) for f in found}) > 1 or len(values) != len(found):
        return None
    numbers = [float(str(v)) for v in values if is_number(v) and not isinstance(v, bool)]
    return numbers if len(numbers) == len(found) and all(map(math.isfinite, numbers)) else None


def _effect(answer: Answer, x: float | str, f: Finding) -> PlotPoint:
    y, low, high = (None if v is None or not math.isfinite(v) else 100 * v for v in (f.change, f.low, f.high))
    said = cut_line(f"{answer.entry} {words.sentence(answer, f)}", SAID_CHARS)
    return PlotPoint(x=x, y=y or 0.0, low=low, high=high, n=f.pairs, said=said, entry=answer.entry)


def _turns(answer: Answer, axis: str, found: Sequence[Finding], numbers: Sequence[float]) -> Iterator[str]:
    """For each side, between which values a settled gain becomes a settled loss, or the other way round. What is
    settled to make no difference, or not at all, lies between them."""
    effects = {Outcome.BETTER: "a gain", Outcome.WORSE: "a loss"}
    for side in dict.fromkeys(f.side for f in found):
        own = sorted((x, f.outcome) for x, f in zip(numbers, found, strict=True) if f.side == side)
        claims = [(x, outcome) for x, outcome in own if outcome in effects]
        for (x, before), (then, after) in itertools.pairwise(claims):
            if before is not after:
                turn = f"turns from {effects[before]} to {effects[after]} between {axis}={x:g} and {then:g}"
                yield f"{side_name(answer, side)} {turn}"


def _no_change(answer: Answer, ends: Sequence[float | str]) -> list[PlotSeries]:
    """The line of no change, and the band of changes that do not matter."""
    zero = PlotPoint(x=ends[0], y=0.0, said="no change", entry=answer.entry)
    found = [PlotSeries(name="no change", shape="rule", points=(zero,), beside=True)]
    if reach := 100 * answer.question.minimum_effect:
        text = f"changes within the minimum effect of {reach:g}% do not matter"
        band = tuple(PlotPoint(x=x, y=0.0, low=-reach, high=reach, said=text, entry=answer.entry) for x in ends)
        found.append(PlotSeries(name=f"minimum effect {reach:g}%", shape="band", points=band, beside=True))
    return found
