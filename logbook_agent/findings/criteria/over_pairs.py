"""Predicates over rows that differ in nothing but what is tested: values of an axis, and cases with their controls."""

from __future__ import annotations

from collections.abc import Mapping

from logbook_agent.findings.contrasts.likeness import Terms
from logbook_agent.findings.contrasts.matching import Ground, compare_values
from logbook_agent.findings.contrasts.numbers import compared as change_of
from logbook_agent.findings.criteria.facts import Facts, combinations, words
from logbook_agent.findings.criteria.outcome import every, met, unmet
from logbook_agent.findings.criteria.predicate import PairsCompared, Sweep
from logbook_agent.findings.tables.frame import show
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Computed
from logbook_agent.model.values import Scalar


def compared(asked: PairsCompared, facts: Facts) -> Computed:
    """Met when each value has enough pairs with the base in each combination: those of a comparison, or rows that may
    be compared; else what the first one lacks."""

    def of_value(value: Scalar, where: Mapping[str, Scalar]) -> Computed:
        pairs = [(a.entry, f.setting) for a, f in facts.findings(asked.metric, where, asked, value) if f.pairs]
        if len({setting for _, setting in pairs}) >= asked.cases:
            return met(f"{asked.axis}={show(value)}: compared in pairs", (entry for entry, _ in pairs))
        sides = {**where, asked.axis: asked.values[0]}, {**where, asked.axis: value}
        return _beside(asked, facts, *sides, asked.axis, (), asked.metric, asked.cases)

    places = ({**asked.where, **at} for at in combinations(asked.for_each))
    return every(of_value(value, where) for where in places for value in asked.values[1:])


def swept(asked: Sweep, facts: Facts) -> Computed:
    """Met when each value was measured and, with controls, beside its control; else what the first one lacks."""

    def of_value(where: Mapping[str, Scalar]) -> Computed:
        rows = facts.rows.choose(where, asked.device)
        if rows and asked.controls:
            axis, *others = asked.controls
            return _beside(asked, facts, {**where, **asked.controls}, where, axis, others)
        return met(f"{words(where)} was measured", rows) if rows else unmet(f"{words(where)} was not measured")

    missing = facts.rows.missing([asked.axis, *asked.where, *asked.controls, *asked.for_each])
    places = ({**asked.where, **at, asked.axis: value} for at in combinations(asked.for_each) for value in asked.values)
    return missing or every(map(of_value, places))


def _beside(
    asked: PairsCompared | Sweep,
    facts: Facts,
    base: Mapping[str, Scalar],
    other: Mapping[str, Scalar],
    axis: str,
    implied: tuple[str, ...] | list[str],
    metric: str | None = None,
    cases: int = 1,
) -> Computed:
    """Whether enough cases of two sides differ in nothing but an axis and what is declared, and have a metric each."""
    if (missing := facts.rows.missing(other)) is not None:
        return missing
    sides = [facts.rows.choose(where, asked.device) for where in (base, other)]
    for where, side in zip((base, other), sides, strict=True):
        if not side:
            return unmet(f"{words(where)} was not measured")
    rows = [*sides[0], *(case for case in sides[1] if case not in sides[0])]
    primary = [metric] if metric else [m.name for m in facts.metrics if m.primary]
    names = primary or [name for case in rows for name in case.row.metrics]
    terms = Terms(axis=axis, implied=(*implied, *asked.implied), allowed=asked.allow)
    try:
        found = [pair for side in compare_values(Ground(rows, terms), show(base[axis])) for pair in side.pairs]
    except UsageError as error:
        return unmet(f"{words(other)}: {error.message}")
    good = [p for p in found if not p.likeness.withheld_by and any(change_of(p, n).change is not None for n in names)]
    pairs = f"{len(good)} pair{'s' * (len(good) != 1)} may be compared"
    if len(good) >= cases:
        return met(
            f"{words(other)}: {pairs}", (i.case for p in good for group in (p.base, p.other) for i in group.items)
        )
    unlike = dict.fromkeys(d.name for pair in found for d in pair.likeness.withheld_by)
    why = f"; others differ in {', '.join(unlike)}" if unlike else ""
    return unmet(f"{words(other)}: {pairs}, {cases} wanted{why}")
