"""Whether the predicates of stop criteria hold for what was measured. Pure: rows, answers, counts and the time are
given."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import TypeAlias

from logbook_agent.findings.advice import flagged, settled_by
from logbook_agent.findings.case_repeats import keys_of
from logbook_agent.findings.cases import Case, value_of
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.findings.comparison.words import SHORTLY, first_words, sentence
from logbook_agent.findings.criteria import predicate as of
from logbook_agent.findings.criteria.evidence import (
    Facts,
    combinations,
    every,
    facts_of,
    met,
    not_computable,
    some,
    unmet,
    words,
)
from logbook_agent.findings.criteria.predicate import Measured, PairsCompared, Sweep, Target, VerdictStated
from logbook_agent.findings.protocol import Records
from logbook_agent.findings.tables.axes import beyond_config, differences
from logbook_agent.findings.tables.frame import Item, by, frame_of, show
from logbook_agent.model.budget import NO_BUDGET, Budget
from logbook_agent.model.comparison import MINIMUM_EFFECT
from logbook_agent.model.header import Computed, Criterion, metric_named
from logbook_agent.model.record import Record
from logbook_agent.model.stats import median
from logbook_agent.model.values import Scalar
from logbook_agent.text.phrases import counted
from logbook_agent.text.shell_words import command_line


def checked(
    criteria: Iterable[Criterion],
    records: Records,
    all_: Sequence[Record],
    counting: Sequence[Record],
    answers: Sequence[Answer],
    now: datetime,
) -> tuple[Criterion, ...]:
    """The criteria, those with a predicate with its state, from all records and those that count."""
    facts = facts_of(records, all_, counting, answers, now)
    return tuple(_checked(criterion, facts) for criterion in criteria)


def _checked(criterion: Criterion, facts: Facts) -> Criterion:
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
        case Budget():
            budget = predicate if facts.budget == NO_BUDGET else facts.budget
            if budget == NO_BUDGET:
                return not_computable("no budget is stated: logbook criteria --budget runs=40")
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


def measured(asked: Measured, facts: Facts) -> Computed:
    """Met when each combination has enough cases with enough runs each."""
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
    """Met when so many runs of a case reach the number that chance would seldom do it."""
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
    reaching, values, group = max(of, key=lambda one: (odds(one[0], len(one[1])), sign * median(one[1])))
    runs = len(values)
    wanted_text = f"{'at least' if sign > 0 else 'at most'} {wanted:g}"
    reason = f"{metric.name} is {wanted_text} in {reaching} of {counted(runs, 'run')} of a case"
    reason += f", median {median(values):.6g}"
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
    """The value of each run: the median of its rows."""
    good = [item for item in items if item.row.failed is None and value_of(item.row, metric) is not None]
    runs = by(good, lambda item: item.run).values()
    return [median([v for item in of_run if (v := value_of(item.row, metric)) is not None]) for of_run in runs]


def _groups(cases: Sequence[Case]) -> list[list[Item]]:
    """The repeats of each case."""
    found: dict[str, list[Item]] = {}
    for item, key in zip(frame_of(cases).items, keys_of(cases), strict=True):
        found.setdefault(key, []).append(item)
    return list(found.values())


Found: TypeAlias = tuple[Answer, Finding]
# A finding keeps its change as a fraction, while the rule holds its logarithm against the bound.
_TINY = 1e-12


def verdict(asked: VerdictStated, facts: Facts) -> Computed:
    """Met when comparisons settle each value in each combination; else what the first one lacks."""
    places = ({**asked.where, **at} for at in combinations(asked.for_each))
    return every(_of_value(asked, facts, value, where) for where in places for value in asked.values[1:])


def _of_value(asked: VerdictStated, facts: Facts, value: Scalar, where: Mapping[str, Scalar]) -> Computed:
    """One value against the base. In each case the latest comparison that settled it decides."""
    primary = [m.name for m in facts.metrics if m.primary]
    metric = asked.metric or next(iter(primary), None)
    latest: dict[object, Found] = {}
    for answer, f in facts.findings(metric, where, asked, value):
        is_fine = answer.question.minimum_effect <= asked.min_effect
        if is_fine and (f.is_settled or f.setting not in latest or not latest[f.setting][1].is_settled):
            latest[f.setting] = answer, f
    good = [one for one in latest.values() if _outcome(one[1], asked.min_effect) in asked.verdicts]
    entries = [answer.entry for answer, _ in latest.values()]
    if len(good) >= asked.cases:
        return met("; ".join(map(_said, good[: asked.cases])), entries)
    count = f"{len(good)} of {asked.cases} cases are settled; " if asked.cases > 1 else ""
    others = sorted((one for one in latest.values() if one not in good), key=lambda one: one[1].is_settled)
    if not others:
        why, command = _missing(asked, facts, value, where, metric if metric not in primary else None)
        return unmet(count + why, entries, command=command)
    answer, finding = others[0]
    if not finding.is_settled:
        return unmet(count + _said(others[0]), entries, command=facts.go_on(answer))
    wanted = f"; wanted {' or '.join(asked.verdicts)} from {100 * asked.min_effect:g}% on"
    return unmet(count + _said(others[0]) + wanted, entries)


def _outcome(finding: Finding, minimum_effect: float) -> Outcome:
    """The outcome for another minimum effect: an effect below it is no difference if the interval says so, else
    open."""
    if not finding.is_settled or abs(math.log1p(finding.change or 0.0)) >= math.log1p(minimum_effect) - _TINY:
        return finding.outcome
    is_small = max(abs(finding.low or 0.0), abs(finding.high or 0.0)) <= minimum_effect
    return Outcome.NO_DIFFERENCE if is_small else Outcome.OPEN


def _said(found: Found) -> str:
    return f"{found[0].entry}: {'; '.join([*first_words(found[0], SHORTLY), sentence(*found)])}"


def _missing(
    asked: VerdictStated, facts: Facts, value: Scalar, where: Mapping[str, Scalar], metric: str | None
) -> tuple[str, str]:
    """The text that no comparison asks this, and the command that makes one. `metric`: one that it has to name."""
    rows = [i for v in asked.values for i in facts.rows.frame.having({**where, asked.axis: v})[:1]]
    command = settled_by(asked.axis, [show(v) for v in asked.values], rows)
    typed = rows[0].case.command if rows else ()
    options = [w for n, v in where.items() if not flagged(typed, n) for w in ("--config", f"{n}={show(v)}")]
    options += ["--metric", metric] if metric is not None else []
    options += ["--min-effect", f"{asked.min_effect:g}"] if asked.min_effect != MINIMUM_EFFECT else []
    sides = f"{asked.axis}={show(value)} with {show(asked.values[0])}"
    at = f" at {words(where)}" if where else ""
    return f"no comparison of {sides}{at}", command.replace(" -- ", f" {command_line([*options, '--'])} ", 1)


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
    wanted: int = 1,
) -> Computed:
    """Met when enough cases of two sides differ in nothing but an axis and what is declared, and have a metric each."""
    if (missing := facts.rows.missing(other)) is not None:
        return missing
    sides = [facts.rows.choose(where, asked.device) for where in (base, other)]
    for where, side in zip((base, other), sides, strict=True):
        if not side:
            return unmet(f"{words(where)} was not measured")
    primary = [metric] if metric else [m.name for m in facts.metrics if m.primary]
    metrics = primary or [name for side in sides for case in side for name in case.row.metrics]
    ignored = {axis, *implied, *asked.implied, *asked.allow}
    frame = frame_of([*sides[0], *sides[1]])
    items = frame.items[: len(sides[0])], frame.items[len(sides[0]) :]
    kept = [n for n in (*frame.apart, frame.pseudo["devices"]) if not {n, n.partition(":")[0]} & ignored]

    names = (*ignored, *frame.config)

    def cases(side: Sequence[Item]) -> Mapping[Hashable, list[Item]]:
        good = [item for item in side if any(value_of(item.row, name) is not None for name in metrics)]
        said = {"argv", "command"} & ignored
        return by(good, lambda i: (i.keys(kept), None if said else beyond_config(_placed(i, axis), names)))

    first, last = map(cases, items)
    both = [first[key] + last[key] for key in first if key in last]
    pairs = f"{counted(len(both), 'pair')} may be compared"
    if len(both) >= wanted:
        return met(f"{words(other)}: {pairs}", (item.case for pair in both for item in pair))
    unlike = differences(frame, *items, ignored)
    why = f"; others differ in {', '.join(unlike)}" if unlike else ""
    return unmet(f"{words(other)}: {pairs}, {wanted} wanted{why}")


def _placed(item: Item, axis: str) -> Case:
    """A case with `{axis}` wherever its command has the value of the axis, as a word or as part of a path: what was put
    in its place (`--src wt/{axis}`) is no other difference."""
    value = item.place.get(axis)
    if value is None:
        return item.case
    word = re.compile(rf"(?<![\w.-]){re.escape(show(value))}(?![\w.-])")
    return replace(item.case, command=tuple(word.sub("{axis}", text) for text in item.case.command))
