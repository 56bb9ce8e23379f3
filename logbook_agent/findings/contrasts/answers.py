"""The answer to a comparison: every pair with its differences and its numbers, and what found no partner."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from logbook_agent.findings.contrasts.likeness import Likeness, Terms
from logbook_agent.findings.contrasts.matching import (
    Ground,
    Group,
    Pair,
    Pairing,
    Unpaired,
    compare_sides,
    compare_values,
)
from logbook_agent.findings.contrasts.numbers import Compared, compared, stated
from logbook_agent.findings.evidence.family import claims_of_one, held_together
from logbook_agent.findings.measured import baseline_cases, is_case
from logbook_agent.findings.tables.metrics import choose
from logbook_agent.findings.tables.spec import Case, TableSpec
from logbook_agent.model.entry import APART_S
from logbook_agent.model.header import Header, Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is asked: of which metrics (empty: the primary ones), on which terms, from which effect on it matters, and
    how far apart runs may lie (see `Comparison`)."""

    terms: Terms
    metrics: tuple[str, ...] = ()
    base_value: str | None = None
    minimum_effect: float = 0.01
    apart_s: float = APART_S
    declared: tuple[Metric, ...] = ()


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

    def mean(self, metric: str) -> tuple[float, int] | None:
        """The geometric mean of a metric's ratios over the pairs whose sides are alike, and how many they are; None
        when they are fewer than two, or a pair has no ratio above zero. (Geometric: see `tables.compare`.)"""
        found = [m for line in self.lines for m in line.metrics if m.metric == metric and m.is_alike]
        ratios = [m.ratio for m in found if m.ratio is not None]
        if len(ratios) < 2 or len(ratios) < len(found) or min(ratios) <= 0:
            return None
        return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)), len(ratios)


Among = Callable[[], Sequence[Compared]]
"""The tests out of which those of a question were chosen. Asked only where one of them would claim something."""


def answer_sides(
    base: Sequence[Case], other: Sequence[Case], names: tuple[str, str], ask: Ask, among: Among | None = None
) -> list[Answer]:
    """Two sets of rows, neither of them empty. Raises UsageError for names that they do not have."""
    ground = Ground([*base, *other], ask.terms)
    return held([_answer(compare_sides(ground, len(base), names), ask, metric_names(ground, ask))], among)


def answer_values(cases: Sequence[Case], ask: Ask, among: Among | None = None) -> list[Answer]:
    """The values of the tested axis against its base. Raises UsageError for names that the rows do not have, and
    when there is one value alone."""
    return held(judged_values(cases, ask), among)


def judged_values(cases: Sequence[Case], ask: Ask) -> list[Answer]:
    """The same, each judged by itself."""
    ground = Ground(cases, ask.terms)
    names = metric_names(ground, ask)
    return [_answer(pairing, ask, names) for pairing in compare_values(ground, ask.base_value)]


def tests_of(answers: Sequence[Answer]) -> list[Compared]:
    """All metrics of all pairs."""
    return [m for answer in answers for line in answer.lines for m in line.metrics]


def held(answers: Sequence[Answer], among: Among | None = None) -> list[Answer]:
    """With the verdicts of all values, cases and metrics corrected together, and with those `among` which they are."""
    family = tests_of(answers)
    others = among() if among is not None and claims_of_one(family) else ()
    held = iter(held_together(family, others))
    return [
        replace(a, lines=tuple(replace(line, metrics=tuple(next(held) for _ in line.metrics)) for line in a.lines))
        for a in answers
    ]


def answer_stated(header: Header, other: Sequence[Case], reference: str, ask: Ask) -> Answer:
    """The numbers that a baseline states, each against the rows that are of its case: ratios without a verdict."""
    ground = Ground(other, ask.terms)
    cases = [n.metrics for n in (header.baseline.numbers if header.baseline is not None else ())]
    wanted = ask.metrics or tuple(dict.fromkeys(name for numbers in cases for name in numbers))
    lines = [
        Line(
            pair=Pair(case=told, base=Group(items=()), other=group, likeness=Likeness()),
            metrics=tuple(stated(name, numbers[name], group, ask.declared) for name in wanted if name in numbers),
        )
        for case, numbers in zip(baseline_cases(header), cases, strict=True)
        for told, group in ground.cases()
        if is_case(group.items[0].row.config, case)
    ]
    return Answer(
        base="baseline",
        other=reference,
        axis=ask.terms.axis,
        lines=tuple(line for line in lines if line.metrics),
        unpaired=(),
    )


def metric_names(ground: Ground, ask: Ask) -> list[str]:
    """The metrics to compare: those asked for, else the primary ones, else what the rows report."""
    expected = [m for m in ask.declared if m.primary or ask.metrics]
    columns, _ = choose(ground.frame, TableSpec(metrics=ask.metrics), expected)
    return [column.name for column in columns]


def _answer(pairing: Pairing, ask: Ask, names: Sequence[str]) -> Answer:
    def of(pair: Pair) -> tuple[Compared, ...]:
        return tuple(compared(pair, n, ask.declared, ask.minimum_effect, ask.terms, ask.apart_s) for n in names)

    return Answer(
        base=pairing.base,
        other=pairing.other,
        axis=ask.terms.axis,
        lines=tuple(Line(pair=pair, metrics=of(pair)) for pair in pairing.pairs),
        unpaired=pairing.unpaired,
    )
