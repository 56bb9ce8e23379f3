"""A comparison over its cases: the effect in each, and where it turns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.findings.comparison.synopsis import cases_of
from logbook_agent.model.values import is_number, parse_scalar
from logbook_agent.report.figures.by_pair import SAID_CHARS, side_name, title_of
from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries, key
from logbook_agent.report.figures.figure_words import name_of, number_axis, span_of
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.natural_order import in_order
from logbook_agent.text.shell_words import assignments

# Where changes differ by this factor, their axis is compressed towards its ends.
_BENT = 20.0


def crossover(answer: Answer, found: Sequence[Finding]) -> Figure | None:
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
            *_no_change(answer, axis.ends),
            *(
                PlotSeries(
                    name=name,
                    shape="line" if is_numeric else "points",
                    points=tuple(_effect(answer, x, f) for x, f in own),
                )
                for name, own in series.items()
            ),
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


def _effect(answer: Answer, x: float | str, f: Finding) -> PlotPoint:
    low, high = _percent_of(f.low), _percent_of(f.high)
    y = _percent_of(f.change) or 0.0
    return PlotPoint(x=x, y=y, low=low, high=high, n=f.pairs, said=_said(answer, f), entry=answer.entry)


def _turns(name: str, axis: str, own: Sequence[tuple[float | str, Finding]]) -> Iterator[str]:
    """Between which values a settled gain becomes a settled loss, or the other way round. What is settled to make no
    difference, or not at all, lies between them."""
    effects = {Outcome.BETTER: "a gain", Outcome.WORSE: "a loss"}
    claims = [(float(x), f.outcome) for x, f in sorted(own, key=lambda one: float(one[0])) if f.outcome in effects]
    for (x, before), (then, after) in itertools.pairwise(claims):
        if before is not after:
            yield f"{name} turns from {effects[before]} to {effects[after]} between {axis}={x:g} and {then:g}"


def _said(answer: Answer, finding: Finding) -> str:
    """A finding in a sentence, for the title of a mark."""
    return cut_line(f"{answer.entry} {words.sentence(answer, finding)}", SAID_CHARS)


def _percent_of(part: float | None) -> float | None:
    return None if part is None or not math.isfinite(part) else 100 * part


def _no_change(answer: Answer, ends: Sequence[float | str]) -> list[PlotSeries]:
    """The line of no change, and the band of changes that do not matter."""
    zero = PlotPoint(x=ends[0], y=0.0, said="no change", entry=answer.entry)
    found = [PlotSeries(name="no change", shape="rule", points=(zero,), beside=True)]
    if reach := 100 * answer.question.minimum_effect:
        text = f"changes within the minimum effect of {reach:g}% do not matter"
        band = tuple(PlotPoint(x=x, y=0.0, low=-reach, high=reach, said=text, entry=answer.entry) for x in ends)
        found.append(PlotSeries(name=f"minimum effect {reach:g}%", shape="band", points=band, beside=True))
    return found


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
