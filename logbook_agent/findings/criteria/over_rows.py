"""Predicates over the rows themselves: enough cases, a target."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from logbook_agent.findings.case import keys_of
from logbook_agent.findings.cases import Case
from logbook_agent.findings.criteria.evidence import Facts, combinations, met, not_computable, unmet, words
from logbook_agent.findings.criteria.predicate import Measured, Target
from logbook_agent.findings.tables.frame import Item, by, frame_of
from logbook_agent.findings.tables.grid import value_of
from logbook_agent.model.header import Computed, metric_named
from logbook_agent.model.stats import median, median_low

# How many times as likely the runs have to be if most reach the number: chance gets there in at most one of 20 cases.
ENOUGH = 20.0


def measured(asked: Measured, facts: Facts) -> Computed:
    """Enough cases with enough runs each, for every combination."""
    rows = facts.rows
    if (missing := rows.missing([*asked.where, *asked.for_each])) is not None:
        return missing
    evidence: list[Case] = []
    for combination in combinations(asked.for_each):
        chosen = rows.choose({**asked.where, **combination}, asked.device)
        groups = [g for g in _groups(chosen) if len({item.run for item in g}) >= asked.runs]
        if len(groups) < asked.cases:
            found = f"{len(groups)} of {asked.cases} cases with {asked.runs} runs"
            return unmet(f"{words(combination)}: {found}".removeprefix(": "), chosen)
        evidence += [i.case for g in groups for i in g]
    return met(f"{asked.cases} or more cases with {asked.runs} runs each", evidence)


def target(asked: Target, facts: Facts) -> Computed:
    """Met when so many runs of some case, of all its runs, reach the number that chance seldom does."""
    rows, metric = facts.rows, metric_named(asked.metric, facts.metrics)
    if (missing := rows.missing(asked.where)) is not None:
        return missing
    chosen = [(c, m.unit) for c in rows.choose(asked.where, asked.device) if (m := c.row.metrics.get(metric.name))]
    units = {unit for _, unit in chosen if unit is not None}
    if metric.unit is None and len(units) > 1:
        return not_computable(f"{metric.name} is in {' and '.join(sorted(units))}, and no unit is declared")
    groups = _groups([case for case, unit in chosen if metric.unit is None or unit in (None, metric.unit)])
    sign, wanted = (1, asked.at_least) if asked.at_least is not None else (-1, asked.at_most)
    assert wanted is not None  # noqa: S101  one of the two is there
    found = [(_of_runs(group, metric.name), group) for group in groups]
    of = [(sum(sign * v >= sign * wanted for v in values), values, group) for values, group in found if values]
    if not of:
        return unmet(f"no case has {metric.name}" + (f" in {metric.unit}" if metric.unit else ""))
    reaching, values, group = max(of, key=lambda one: (odds(one[0], len(one[1])), sign * median_low(one[1])))
    runs = len(values)
    wanted_text = f"{'at least' if sign > 0 else 'at most'} {wanted:g}"
    reason = f"{metric.name} is {wanted_text} in {reaching} of {runs} run{'s' * (runs != 1)} of a case"
    reason += f", median {median_low(values):.6g}"
    evidence = [item.case for item in group]
    if odds(reaching, runs) >= ENOUGH and runs >= asked.runs:
        return met(reason, evidence)
    if 2 * reaching > runs:
        settle = (n for n in count(1) if odds(reaching + n, runs + n) >= ENOUGH and runs + n >= asked.runs)
        more = next(settle)
        reason += f"; {more} more that reach{'es' * (more == 1)} it would settle it"
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


def _of_runs(items: Sequence[Item], metric: str) -> list[float]:
    """A value of each run: the median of its rows."""
    good = [item for item in items if item.row.failed is None and value_of(item, metric) is not None]
    runs = by(good, lambda item: item.run).values()
    return [median([v for item in of_run if (v := value_of(item, metric)) is not None]) for of_run in runs]


def _groups(cases: Sequence[Case]) -> list[list[Item]]:
    """The repeats of each case."""
    found: dict[str, list[Item]] = {}
    for item, key in zip(frame_of(cases).items, keys_of(cases), strict=True):
        found.setdefault(key, []).append(item)
    return list(found.values())
