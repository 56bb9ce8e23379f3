"""Whether the predicates of stop criteria hold for what was measured. Pure: rows, answers, counts and the time are
given."""

from __future__ import annotations

from itertools import count

from msgspec import structs

from logbook_agent.findings.case_repeats import Repeats, repeats
from logbook_agent.findings.criteria import predicate as of
from logbook_agent.findings.criteria.evidence import Facts, every, met, not_computable, some, unmet
from logbook_agent.findings.criteria.side_by_side import compared
from logbook_agent.model.header import NO_BUDGET, Budget, Computed, Criterion, metric_named
from logbook_agent.model.stats import median
from logbook_agent.text.phrases import counted


def checked(number: int, criterion: Criterion, facts: Facts) -> Criterion:
    """The criterion of this number, with its state if it has a predicate."""
    if criterion.predicate is None:
        return criterion
    try:
        predicate = of.parse(criterion.predicate)
        # What a person judged is all that there is to say.
        is_said = isinstance(predicate, of.ByPerson) and criterion.judgement is not None
        return criterion if is_said else structs.replace(criterion, computed=evaluate(predicate, facts, number))
    except of.PredicateError as error:
        return structs.replace(criterion, computed=not_computable(f"predicate: {error}"))


def evaluate(predicate: of.Predicate, facts: Facts, number: int = 0) -> Computed:
    """Met, unmet or not computable, with the reason in one line and the entries that show it. `number`: that of the
    criterion, where the predicate is all of it."""
    match predicate:
        case of.SideBySide():
            return compared(predicate, facts, number)
        case of.Target():
            return target(predicate, facts)
        case Budget():
            budget = predicate if facts.budget == NO_BUDGET else facts.budget
            if budget == NO_BUDGET:
                return not_computable("no budget is stated", command="logbook criteria --budget runs=40")
            is_spent = budget.is_spent(facts.runs, facts.hours)
            return (met if is_spent else unmet)(budget.text(facts.runs, facts.hours))
        case of.Day(day=day):
            return met(f"{day} has come") if facts.now.date() >= day else unmet(f"{day} has not come yet")
        case of.ByPerson():
            return unmet("nobody has judged it yet")
        case of.Several(parts=several, every=is_all):
            return (every if is_all else some)(evaluate(part, facts) for part in several)


# How many times as likely the runs have to be if most reach the number: chance gets there in at most one of 20 cases.
ENOUGH = 20.0


def target(asked: of.Target, facts: Facts) -> Computed:
    """Met when so many runs of a case reach the number that chance would seldom do it."""
    rows, metric = facts.rows, metric_named(asked.metric, facts.metrics)
    if (missing := rows.missing(asked.where)) is not None:
        return missing
    chosen = [(c, m.unit) for c in rows.choose(asked.where, asked.device) if (m := c.row.metrics.get(metric.name))]
    units = {unit for _, unit in chosen if unit is not None}
    if metric.unit is None and len(units) > 1:
        return not_computable(f"{metric.name} is in {' and '.join(sorted(units))}, and no unit is declared")
    groups = repeats([case for case, unit in chosen if metric.unit is None or unit in (None, metric.unit)])
    sign, wanted = (1, asked.at_least) if asked.at_least is not None else (-1, asked.at_most)
    assert wanted is not None  # noqa: S101  one of the two is there
    found = [(group.values(metric.name), group) for group in groups]
    counts = [(sum(sign * v >= sign * wanted for v in values), values, group) for values, group in found if values]
    if not counts:
        return unmet(f"no case has {metric.name}" + (f" in {metric.unit}" if metric.unit else ""))

    def nearness(one: tuple[int, list[float], Repeats]) -> tuple[float, float]:
        """How near a case is: by its odds where most of its runs reach the number, else by its median alone."""
        reaching, values, _ = one
        return odds(reaching, len(values)) if 2 * reaching > len(values) else 0.0, sign * median(values)

    reaching, values, group = max(counts, key=nearness)
    runs = len(values)
    wanted_text = f"{'at least' if sign > 0 else 'at most'} {wanted:g}"
    reason = f"{metric.name} is {wanted_text} in {reaching} of {counted(runs, 'run')} of a case"
    reason += f", median {median(values):.6g}"
    evidence = [case.entry for case in group.cases]
    if odds(reaching, runs) >= ENOUGH and runs >= asked.runs:
        return met(reason, evidence)
    if 2 * reaching > runs:
        settle = (n for n in count(1) if odds(reaching + n, runs + n) >= ENOUGH and runs + n >= asked.runs)
        more = next(settle)
        reason += f"; {more} more that reach{'es' * (more == 1)} it would settle it"
        return unmet(reason, evidence, command=facts.more(group.cases[-1], more))
    return unmet(reason, evidence)


def odds(reaching: int, runs: int) -> float:
    """How many times as likely the runs are if any part of more than half reaches the number as if half does.

    The likelihood is averaged over all such parts, so looking again after each run costs nothing: if half the runs
    reach the number, it ever comes to 20 in at most one of 20 cases. A run that reaches the number always raises it.
    Equal to sum(comb(runs + 1, i) for i <= reaching) / ((runs + 1) * comb(runs, reaching)).
    """
    term = total = 1 / (runs + 1 - reaching)
    for i in range(reaching, 0, -1):
        term *= i / (runs + 2 - i)
        total += term
    return total
