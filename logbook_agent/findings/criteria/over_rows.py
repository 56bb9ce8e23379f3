"""Predicates over the rows themselves: enough cases, a target, a plateau."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter

from logbook_agent.findings.case import keys_of
from logbook_agent.findings.contrasts.matching import Group
from logbook_agent.findings.criteria.outcome import met, not_computable, unmet
from logbook_agent.findings.criteria.predicate import Measured, Plateau, Target
from logbook_agent.findings.criteria.select import Rows, combinations, reference, words
from logbook_agent.findings.evidence.compared import numbers
from logbook_agent.findings.evidence.reached import bears_out, runs_needed
from logbook_agent.findings.measured import unit_of
from logbook_agent.findings.tables.frame import Item, frame_of
from logbook_agent.findings.tables.spec import Case
from logbook_agent.model.header import Computed, Metric, metric_named
from logbook_agent.model.units import Direction, common

_BETTER = {"max": max, "min": min}


def measured(predicate: Measured, cases: Sequence[Case]) -> Computed:
    """Enough cases with enough runs each, for every combination."""
    rows = Rows(cases)
    if (missing := rows.missing([*predicate.where, *predicate.for_each])) is not None:
        return missing
    evidence: list[str] = []
    for combination in combinations(predicate.for_each):
        chosen = rows.choose({**predicate.where, **combination}, predicate.device)
        groups = [g for g in _groups(chosen) if g.runs >= predicate.runs]
        if len(groups) < predicate.cases:
            found = f"{len(groups)} of {predicate.cases} cases with {predicate.runs} runs"
            return unmet(f"{words(combination)}: {found}".removeprefix(": "), map(reference, chosen))
        evidence += [reference(i.case) for g in groups for i in g.items]
    return met(f"{predicate.cases} or more cases with {predicate.runs} runs each", evidence)


def target(predicate: Target, cases: Sequence[Case], metrics: Sequence[Metric]) -> Computed:
    """The best of the cases, each by the median over its runs, against the number. One lucky run reaches nothing: the
    runs have to settle it, those of the best of many cases more clearly than fresh ones of that case."""
    rows = Rows(cases)
    if (missing := rows.missing(predicate.where)) is not None:
        return missing
    direction: Direction = "max" if predicate.at_least is not None else "min"
    wanted = predicate.at_least if predicate.at_least is not None else predicate.at_most
    assert wanted is not None  # noqa: S101  one of the two is there
    chosen = _on_scale(rows.choose(predicate.where, predicate.device), metric_named(predicate.metric, metrics))
    if isinstance(chosen, Computed):
        return chosen
    groups = _groups(chosen)
    found = [
        (median, group)
        for group, runs in _speaking(groups, predicate.metric)
        if (median := numbers(group, predicate.metric).median) is not None and runs >= predicate.runs
    ]
    if not found:
        return unmet(f"no case has {predicate.metric} from {predicate.runs} or more runs")
    value, group = _BETTER[direction](found, key=itemgetter(0))
    reached = value >= wanted if direction == "max" else value <= wanted
    sign = "at least" if direction == "max" else "at most"
    reason = f"best {predicate.metric} {value:.6g}, wanted {sign} {wanted:g}"
    evidence = [reference(i.case) for i in group.items]
    if not reached:
        return unmet(reason, evidence)
    values = numbers(group, predicate.metric).values
    reaching = sum(v >= wanted if direction == "max" else v <= wanted for v in values)
    # Fresh runs of the case that had come out best are of one case, and were not chosen.
    is_fresh = _is_confirmed(group, predicate.metric)
    chosen_from = 1 if is_fresh else len(groups)
    if not bears_out(reaching, len(values), chosen_from):
        many = f" (the best of {chosen_from} cases)" if chosen_from > 1 else ""
        runs_text = f"{reaching} of {len(values)} {'fresh ' * is_fresh}run{'s' * (len(values) != 1)}"
        more = runs_needed(reaching, len(values), chosen_from)
        return unmet(f"{reason}: {runs_text}{many} reached it; {more} more would settle it", evidence)
    return met(reason, evidence)


def _is_confirmed(group: Group, metric: str) -> bool:
    """Whether its runs were made because the case had come out best."""
    return all(item.case.confirms in ("", metric) for item in group.items)


def plateau(predicate: Plateau, cases: Sequence[Case], metrics: Sequence[Metric]) -> Computed:
    """The best of the last entries against the best of those before, each by the medians of its cases."""
    rows = Rows(cases)
    if (missing := rows.missing(predicate.where)) is not None:
        return missing
    direction = metric_named(predicate.metric, metrics).direction
    if direction is None:
        return not_computable(f"{predicate.metric} has no direction: which way is better is not stated")
    chosen = _on_scale(rows.choose(predicate.where, None), metric_named(predicate.metric, metrics))
    if isinstance(chosen, Computed):
        return chosen
    entries = _best_of_entries(chosen, predicate.metric, direction)
    if len(entries) <= predicate.entries:
        return unmet(f"{len(entries)} entries have {predicate.metric}; more than {predicate.entries} are needed")
    before, last = entries[: -predicate.entries], entries[-predicate.entries :]
    old, new = (_BETTER[direction](value for value, _ in part) for part in (before, last))
    gain = new / old - 1 if direction == "max" else old / new - 1
    which = "the last entry" if predicate.entries == 1 else f"the last {predicate.entries} entries"
    reason = f"{which}: {gain:+.2%} against the previous best"
    return (met if gain <= predicate.within else unmet)(reason, [ref for _, runs in last for ref in runs])


def _best_of_entries(cases: Sequence[Case], metric: str, direction: Direction) -> list[tuple[float, list[str]]]:
    """The best case of each entry, by the median over its runs, with these runs; in the order in which the entries
    were first run. A case without a positive number counts for nothing."""
    of: dict[str, list[Case]] = {}
    for case in sorted(cases, key=lambda c: c.started):
        of.setdefault(case.entry, []).append(case)
    found = []
    for own in of.values():
        values = [(numbers(group, metric).median or math.nan, group) for group, _ in _speaking(_groups(own), metric)]
        values = [(value, group) for value, group in values if math.isfinite(value) and value > 0]
        if values:
            value, group = _BETTER[direction](values, key=itemgetter(0))
            found.append((value, [reference(i.case) for i in group.items]))
    return found


def _on_scale(cases: Sequence[Case], metric: Metric) -> list[Case] | Computed:
    """The cases without those whose value of a metric is in another unit than the declared one."""
    units = [m.unit if (m := case.row.metrics.get(metric.name)) is not None else None for case in cases]
    there = {unit for case, unit in zip(cases, units, strict=True) if metric.name in case.row.metrics}
    wanted = unit_of(metric)
    kept = common(there, wanted)
    if there and not kept:
        named = sorted(unit for unit in there if unit is not None)
        return not_computable(
            f"{metric.name} is in {' and '.join(named)}, and the logbook does not declare which counts"
        )
    if metric.unit is not None:
        kept &= {None, metric.unit}
    return [case for case, unit in zip(cases, units, strict=True) if unit in kept]


def _groups(cases: Sequence[Case]) -> list[Group]:
    """The repeats of each case."""
    found: dict[str, list[Item]] = {}
    for item, key in zip(frame_of(cases).items, keys_of(cases), strict=True):
        found.setdefault(key, []).append(item)
    return [Group(items=tuple(items)) for items in found.values()]


def _speaking(groups: Sequence[Group], metric: str) -> list[tuple[Group, int]]:
    """Each case with the runs that say how good it is, and how many have a number of it in all.

    Of a sweep that confirmed its best case only the fresh runs speak: every other number may be luck.
    """

    def is_fresh(item: Item) -> bool:
        return item.case.confirms in ("", metric) and bool(numbers(Group(items=(item,)), metric).runs)

    confirmed = {i.case.entry for group in groups for i in group.items if is_fresh(i)}
    found = []
    for group in groups:
        own = tuple(i for i in group.items if is_fresh(i) or i.case.entry not in confirmed)
        if own:
            found.append((replace(group, items=own), numbers(group, metric).runs))
    return found
