"""The pairs of a comparison in order of time: both runs of each."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.findings.comparison import words
from logbook_agent.findings.comparison.answer import Answer, Finding
from logbook_agent.model.header import Metric
from logbook_agent.report.figures.figure import Figure, FigureKind, PlotAxis, PlotPoint, PlotSeries, key
from logbook_agent.report.figures.figure_words import NAME_CHARS, metric_axis, name_of, shown, span_of
from logbook_agent.text.markdown import cut_line

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
