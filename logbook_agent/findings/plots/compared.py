"""The figures of the comparisons that an entry keeps."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from logbook_agent.findings.plots.figure import Figure, FigureKind
from logbook_agent.findings.plots.in_time import pairs, ratios
from logbook_agent.findings.plots.judged import judged_cases
from logbook_agent.findings.plots.over_cases import controls, crossover
from logbook_agent.findings.plots.undrawn import attempted
from logbook_agent.findings.trust import Answered
from logbook_agent.model.header import Metric

_MADE = {
    FigureKind.CONTROLS: controls,
    FigureKind.CROSSOVER: crossover,
    FigureKind.PAIRS: pairs,
    FigureKind.RATIOS: ratios,
}


def compared_figures(
    entry_id: str, kept: Sequence[Answered], declared: Sequence[Metric], metric: str | None
) -> Iterator[Figure]:
    """The figures of the comparisons of an entry; of one that cannot be answered there is none."""
    for one in kept:
        for name in _metrics(one, metric):
            judged = judged_cases(one, name)
            for kind, made in _MADE.items():
                make = functools.partial(made, entry_id, one, judged, declared)
                if (figure := attempted(make, kind, entry=entry_id, metric=name)) is not None:
                    yield figure


def _metrics(one: Answered, metric: str | None) -> list[str]:
    names = dict.fromkeys(m.metric for a in one.answers for line in a.lines for m in line.metrics)
    return [name for name in names if metric in (None, name)]
