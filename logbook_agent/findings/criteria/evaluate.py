"""Whether a predicate holds for what was measured. Pure: rows, answers, counts and the time are given."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from logbook_agent.findings.criteria import predicate as of
from logbook_agent.findings.criteria.evidence import Facts, every, met, not_computable, some, unmet
from logbook_agent.findings.criteria.over_comparisons import plateau, verdict
from logbook_agent.findings.criteria.over_pairs import compared, swept
from logbook_agent.findings.criteria.over_rows import measured, target
from logbook_agent.model.header import Computed, Criterion


def computed(criteria: Iterable[Criterion], facts: Facts) -> tuple[Criterion, ...]:
    """The criteria with what their predicates come to; as they are where they have none."""
    return tuple(_computed(criterion, facts) for criterion in criteria)


def _computed(criterion: Criterion, facts: Facts) -> Criterion:
    if criterion.predicate is None:
        return criterion
    try:
        return replace(criterion, computed=evaluate(of.parse(criterion.predicate), facts))
    except of.PredicateError as error:
        return replace(criterion, computed=not_computable(f"predicate: {error}"))


def evaluate(predicate: of.Predicate, facts: Facts) -> Computed:
    """Met, unmet or not computable, with the reason in one line and the entries or runs that show it."""
    match predicate:
        case of.PairsCompared():
            return compared(predicate, facts)
        case of.VerdictStated():
            return verdict(predicate, facts)
        case of.Sweep():
            return swept(predicate, facts)
        case of.Measured():
            return measured(predicate, facts)
        case of.Target():
            return target(predicate, facts)
        case of.Plateau():
            return plateau(predicate, facts)
        case of.Budget(runs=runs, hours=hours):
            said = [f"{facts.runs} of {runs} runs"] if runs is not None else []
            said += [f"{facts.hours:.2f} of {hours:g} hours"] if hours is not None else []
            is_spent = facts.runs >= (runs or math.inf) or facts.hours >= (hours or math.inf)
            return (met if is_spent else unmet)(f"{' and '.join(said)} spent")
        case of.Day(day=day):
            return met(f"{day} has come") if facts.now.date() >= day else unmet(f"{day} has not come yet")
        case of.ByPerson():
            return unmet("nobody has judged it yet")
        case of.Several(parts=several, every=is_all):
            return (every if is_all else some)(evaluate(part, facts) for part in several)
