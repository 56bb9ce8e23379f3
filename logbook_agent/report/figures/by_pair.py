"""The pairs of a comparison in order of time: both runs of each, and the change between them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, Finding
from logbook_agent.model.header import Metric
from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries, key
from logbook_agent.report.figures.figure_words import NAME_CHARS, metric_axis, name_of, shown, span_of
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.phrases import counted

SAID_CHARS = 240
_SHOWN_FINDINGS = 6


def side_name(answer: Answer, side: str) -> str:
    return cut_line(words.label(answer, side), NAME_CHARS)


def finding_name(answer: Answer, finding: Finding) -> str:
    """The side and case by which a finding differs from the others of its metric; empty for a single one."""
    several = len(answer.question.sides) > 1
    return " ".join(filter(None, [side_name(answer, finding.side) if several else "", name_of(finding.case)]))


def title_of(answer: Answer, found: Sequence[Finding], what: str) -> str:
    """The title of a figure: the metric, what is shown of it, the sides, and the result of a single finding."""
    sides = dict.fromkeys(side_name(answer, f.side) for f in found)
    base = side_name(answer, answer.question.base)
    text = f"{answer.entry}: {found[0].metric} {what}, "
    text += f"{base} → {next(iter(sides))}" if len(sides) == 1 else f"against {base}"
    return text + (f": {words.signed(found[0].change)}, {found[0].outcome.value}" if len(found) == 1 else "")


def findings_text(answer: Answer, found: Sequence[Finding]) -> str:
    """`int8 topk=2: +5.99%, better; ...`, for the note of a figure of several findings."""
    said = [
        f"{finding_name(answer, f) or f.metric}: {words.signed(f.change)}, {f.outcome.value}"
        for f in found[:_SHOWN_FINDINGS]
    ]
    more = len(found) - len(said)
    return "; ".join(said) + (f"; and {more} more" if more > 0 else "")


def said(answer: Answer, finding: Finding) -> str:
    """A finding in a sentence, for the title of a mark."""
    return cut_line(f"{answer.entry} {words.sentence(answer, finding)}", SAID_CHARS)


def percent_of(part: float | None) -> float | None:
    return None if part is None or not math.isfinite(part) else 100 * part


def no_change(answer: Answer, ends: Sequence[float | str]) -> list[PlotSeries]:
    """The line of no change, and the band of changes that do not matter."""
    zero = PlotPoint(x=ends[0], y=0.0, said="no change", entry=answer.entry)
    found = [PlotSeries(name="no change", shape="rule", points=(zero,), beside=True)]
    if reach := 100 * answer.question.minimum_effect:
        text = f"changes within the minimum effect of {reach:g}% do not matter"
        band = tuple(PlotPoint(x=x, y=0.0, low=-reach, high=reach, said=text, entry=answer.entry) for x in ends)
        found.append(PlotSeries(name=f"minimum effect {reach:g}%", shape="band", points=band, beside=True))
    return found


_IN_TIME = "pair, in time order"


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
        x=PlotAxis(name=_IN_TIME),
        y=y,
        series=tuple(series.values()),
        note=f"{span_of((f.pairs for f in found), 'pair')}; each mark is the median of the samples of one run.",
        entries=answer.entries,
        entry=answer.entry,
    )


def ratios(answer: Answer, found: Sequence[Finding], _declared: Sequence[Metric]) -> Figure | None:
    """The change in every pair, beside the finding with its interval. None of a single pair."""
    found = [f for f in found if f.pairs > 1]
    if not found:
        return None
    metric, count = found[0].metric, max(f.pairs for f in found)
    ends = (0.5, count + 0.5)
    left_out = "".join(f" {finding_name(answer, f) or metric}: {'; '.join(f.left_out)}." for f in found if f.left_out)
    several = f" {findings_text(answer, found)}." if len(found) > 1 else ""
    band = "the crossover plot shows the interval of each case" if several else _band(found[0])
    return Figure(
        key=key(answer.entry, "ratios", metric),
        kind=FigureKind.RATIOS,
        title=title_of(answer, found, "pair by pair"),
        x=PlotAxis(name=_IN_TIME),
        y=PlotAxis(name=f"change of {metric}", unit="%"),
        series=(
            *no_change(answer, ends),
            *(_found(answer, found[0], ends) if len(found) == 1 else ()),
            *(_changes(answer, f) for f in found),
        ),
        note=f"{counted(count, 'pair')}, one mark each; {band}.{several}{left_out}",
        entries=answer.entries,
        entry=answer.entry,
    )


def _changes(answer: Answer, f: Finding) -> PlotSeries:
    points = []
    for number, (base, other) in enumerate(zip(f.base.values, f.other.values, strict=True), start=1):
        change, values = 100 * (other / base - 1), f"{shown(base, f.metric)} → {shown(other, f.metric)}"
        name = " ".join(filter(None, [f"{answer.entry} pair {number}", finding_name(answer, f)]))
        text = cut_line(f"{name}: {change:+.2f}% ({values})", SAID_CHARS)
        points.append(PlotPoint(x=number, y=change, said=text, entry=answer.entry))
    return PlotSeries(name=finding_name(answer, f) or "pairs", shape="line", points=tuple(points))


def _found(answer: Answer, f: Finding, ends: Sequence[float]) -> list[PlotSeries]:
    """The change with its interval, as lines across the figure."""
    middle, low, high = map(percent_of, (f.change, f.low, f.high))
    if middle is None:
        return []
    text = said(answer, f)
    found = []
    if low is not None and high is not None:
        band = tuple(
            PlotPoint(x=x, y=middle, low=low, high=high, n=f.pairs, said=text, entry=answer.entry) for x in ends
        )
        found.append(PlotSeries(name=f"{f.level:.0%} interval of the change", shape="band", points=band))
    rule = PlotPoint(x=ends[0], y=middle, n=f.pairs, said=text, entry=answer.entry)
    return [*found, PlotSeries(name=f"change {middle:+.2f}%", shape="rule", points=(rule,))]


def _band(f: Finding) -> str:
    return "too few for an interval" if f.low is None else f"band: {f.level:.0%} interval of the change, over all looks"
