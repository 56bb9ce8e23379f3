"""Whether a predicate holds for what was measured. Pure: rows, counts and the time are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from logbook_agent.findings.criteria.outcome import MET, NOT_COMPUTABLE, UNMET, met, not_computable, unmet
from logbook_agent.findings.criteria.over_pairs import compared, swept
from logbook_agent.findings.criteria.over_rows import measured, plateau, target
from logbook_agent.findings.criteria.predicate import (
    Budget,
    Day,
    Judged,
    Measured,
    PairsCompared,
    Plateau,
    Predicate,
    PredicateError,
    Several,
    Sweep,
    Target,
    parse,
)
from logbook_agent.findings.tables.spec import Case
from logbook_agent.model.header import Computed, Criterion, Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What predicates are held against. `hours` is the time that runs took; `now` has a zone."""

    cases: Sequence[Case]
    metrics: tuple[Metric, ...]
    now: datetime
    runs: int
    hours: float

    @property
    def planned(self) -> list[Case]:
        """Without the runs that confirm the best case of a sweep: they are no repeats of it."""
        return [case for case in self.cases if case.confirms is None]


def computed(criterion: Criterion, facts: Facts) -> Criterion:
    """A criterion with what its predicate comes to; as it is where it has none."""
    if criterion.predicate is None:
        return criterion
    try:
        found = evaluate(parse(criterion.predicate), facts)
    except PredicateError as error:
        found = not_computable(f"predicate: {error}")
    return replace(criterion, computed=found)


def evaluate(predicate: Predicate, facts: Facts) -> Computed:
    """Met, unmet or not computable, with the reason in one line and the runs that show it."""
    match predicate:
        case PairsCompared():
            return compared(predicate, facts.planned, facts.metrics)
        case Sweep():
            return swept(predicate, facts.planned, facts.metrics)
        case Measured():
            return measured(predicate, facts.planned)
        case Target():
            return target(predicate, facts.cases, facts.metrics)
        case Plateau():
            return plateau(predicate, facts.cases, facts.metrics)
        case Budget():
            return _budget(predicate, facts)
        case Day(day=day):
            return met(f"{day} has come") if facts.now.date() >= day else unmet(f"{day} has not come yet")
        case Judged():
            return unmet("nobody has judged it yet")
        case Several():
            return _several(predicate, facts)


def _budget(budget: Budget, facts: Facts) -> Computed:
    said, spent = [], False
    if budget.runs is not None:
        said.append(f"{facts.runs} of {budget.runs} runs")
        spent |= facts.runs >= budget.runs
    if budget.hours is not None:
        said.append(f"{facts.hours:.2f} of {budget.hours:g} hours")
        spent |= facts.hours >= budget.hours
    return (met if spent else unmet)(f"{' and '.join(said)} spent")


def _several(several: Several, facts: Facts) -> Computed:
    """Of all parts the first that is not met speaks; of any the first that is."""
    outcomes = [evaluate(part, facts) for part in several.parts]
    of = [o for o in outcomes if (o.state == MET) != several.every]
    if several.every:
        # What cannot be computed may yet be met; a part that is unmet decides.
        found = next((o for o in of if o.state == UNMET), next(iter(of), None))
    else:
        found = next(iter(of), None) or next((o for o in outcomes if o.state == NOT_COMPUTABLE), None)
    if found is not None:
        return found
    reasons = "; ".join(dict.fromkeys(o.reason for o in outcomes))
    return (met if several.every else unmet)(reasons, [ref for o in outcomes for ref in o.evidence])
