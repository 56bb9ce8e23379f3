"""The answer to a comparison: every pair with its differences and its numbers, and what found no partner."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from logbook_agent.findings.evidence.alike import Difference, Likeness, Terms, Trial
from logbook_agent.findings.evidence.compared import Compared, compared, stated
from logbook_agent.findings.evidence.pairs import Ground, Group, Pair, Pairing, Unpaired, compare_sides, compare_values
from logbook_agent.findings.tables.metrics import choose
from logbook_agent.findings.tables.spec import TableSpec
from logbook_agent.model.header import Metric
from logbook_agent.model.values import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is asked: of which metrics (empty: the primary ones), on which terms, from which effect on it matters."""

    terms: Terms
    metrics: tuple[str, ...] = ()
    base_value: str | None = None
    minimum_effect: float = 0.01
    declared: tuple[Metric, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedCase:
    """Numbers of a case that were written down: no run stands behind them here."""

    metrics: Mapping[str, float]
    units: Mapping[str, str | None]
    is_of: Callable[[Mapping[str, Scalar]], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A pair with its metrics."""

    pair: Pair
    metrics: tuple[Compared, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One side against another; `base` and `other` name them, as values of `axis` or as references."""

    base: str
    other: str
    axis: str | None
    lines: tuple[Line, ...]
    unpaired: tuple[Unpaired, ...]
    minimum_effect: float

    @property
    def differences(self) -> list[tuple[Difference, int]]:
        """Every difference that stands in some pair, and in how many; those in unit count pairs, too."""
        found: dict[Difference, int] = {}
        for line in self.lines:
            more = [d for m in line.metrics for d in m.withheld_by]
            for difference in dict.fromkeys((*line.pair.likeness.differences, *more)):
                found[difference] = found.get(difference, 0) + 1
        return list(found.items())

    @property
    def not_known(self) -> list[str]:
        """Facts that matter and that neither side of some pair tells."""
        return list(dict.fromkeys(n for line in self.lines for n in line.pair.likeness.not_known))

    def mean(self, metric: str) -> tuple[float, int] | None:
        """The geometric mean of a metric's ratios over the pairs whose verdict is not withheld, and how many they
        are; None when they are fewer than two, or a pair has no ratio. (Geometric: see `tables.compare`.)"""
        found = [m for line in self.lines for m in line.metrics if m.metric == metric and not m.withheld_by]
        ratios = [m.ratio for m in found if m.ratio is not None]
        if len(ratios) < 2 or len(ratios) < len(found):
            return None
        return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)), len(ratios)


def answer_sides(base: Sequence[Trial], other: Sequence[Trial], names: tuple[str, str], ask: Ask) -> list[Answer]:
    """Two sets of rows, neither of them empty. Raises UsageError for names that they do not have."""
    ground = Ground([*base, *other], ask.terms)
    return [_answer(compare_sides(ground, len(base), names), ask, metric_names(ground, ask))]


def answer_values(trials: Sequence[Trial], ask: Ask) -> list[Answer]:
    """The values of the tested axis against its base. Raises UsageError for names that the rows do not have, and
    when there is one value alone."""
    ground = Ground(trials, ask.terms)
    names = metric_names(ground, ask)
    return [_answer(pairing, ask, names) for pairing in compare_values(ground, ask.base_value)]


def answer_stated(stated_cases: Sequence[StatedCase], other: Sequence[Trial], name: str, ask: Ask) -> Answer:
    """The numbers that a baseline states, each against the rows that are of its case: ratios without a verdict."""
    ground = Ground(other, ask.terms)
    names = ask.metrics or tuple(dict.fromkeys(metric for case in stated_cases for metric in case.metrics))
    lines = [
        Line(
            pair=Pair(case=told, base=Group(tried=()), other=group, likeness=Likeness()),
            metrics=tuple(
                stated(metric, case.metrics[metric], group, ask.declared, case.units.get(metric))
                for metric in names
                if metric in case.metrics
            ),
        )
        for case in stated_cases
        for told, group in ground.cases()
        if case.is_of(group.tried[0].item.row.config)
    ]
    return Answer(
        base="baseline",
        other=name,
        axis=ask.terms.axis,
        lines=tuple(line for line in lines if line.metrics),
        unpaired=(),
        minimum_effect=ask.minimum_effect,
    )


def metric_names(ground: Ground, ask: Ask) -> list[str]:
    """The metrics to compare: those asked for, else the primary ones, else what the rows report."""
    expected = [m for m in ask.declared if m.primary or ask.metrics]
    columns, _ = choose(ground.frame, TableSpec(metrics=ask.metrics), expected)
    return [column.name for column in columns]


def _answer(pairing: Pairing, ask: Ask, names: Sequence[str]) -> Answer:
    return Answer(
        base=pairing.base,
        other=pairing.other,
        axis=ask.terms.axis,
        lines=tuple(
            Line(pair=p, metrics=tuple(compared(p, name, ask.declared, ask.minimum_effect) for name in names))
            for p in pairing.pairs
        ),
        unpaired=pairing.unpaired,
        minimum_effect=ask.minimum_effect,
    )
