"""Predicates over what comparisons answered: a verdict, a plateau. What is settled comes from `findings.comparison`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

from logbook_agent.findings.advice import flagged, settled_by
from logbook_agent.findings.comparison.answer import Answer, Finding, Outcome
from logbook_agent.findings.comparison.words import sentence
from logbook_agent.findings.criteria.evidence import Facts, combinations, every, met, not_computable, unmet, words
from logbook_agent.findings.criteria.predicate import Plateau, VerdictStated
from logbook_agent.findings.tables.frame import show
from logbook_agent.model.comparison import MINIMUM_EFFECT
from logbook_agent.model.header import Computed, metric_named
from logbook_agent.model.values import Scalar
from logbook_agent.text.words import command_line

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
        return unmet(count + _missing(asked, facts, value, where, metric if metric not in primary else None), entries)
    wanted = f"; wanted {' or '.join(asked.verdicts)} from {100 * asked.min_effect:g}% on"
    more = wanted if others[0][1].is_settled else f": {facts.go_on(others[0][0])}"
    return unmet(count + _said(others[0]) + more, entries)


def _outcome(finding: Finding, minimum_effect: float) -> Outcome:
    """An effect below the one that matters is no difference if the interval says so, and else open."""
    if not finding.is_settled or abs(math.log1p(finding.change or 0.0)) >= math.log1p(minimum_effect) - _TINY:
        return finding.outcome
    is_small = max(abs(finding.low or 0.0), abs(finding.high or 0.0)) <= minimum_effect
    return Outcome.NO_DIFFERENCE if is_small else Outcome.OPEN


def _said(found: Found) -> str:
    return f"{found[0].entry}: {sentence(*found)}"


def _missing(asked: VerdictStated, facts: Facts, value: Scalar, where: Mapping[str, Scalar], metric: str | None) -> str:
    """That no comparison asks this, and the command that makes it; `metric`: one that it has to name."""
    rows = [i for v in asked.values for i in facts.rows.frame.having({**where, asked.axis: v})[:1]]
    command = settled_by(asked.axis, [show(v) for v in asked.values], rows)
    typed = rows[0].case.command if rows else ()
    options = [w for n, v in where.items() if not flagged(typed, n) for w in ("--config", f"{n}={show(v)}")]
    options += ["--metric", metric] if metric is not None else []
    options += ["--min-effect", f"{asked.min_effect:g}"] if asked.min_effect != MINIMUM_EFFECT else []
    sides = f"{asked.axis}={show(value)} with {show(asked.values[0])}"
    at = f" at {words(where)}" if where else ""
    proposed = command.replace(" -- ", f" {command_line([*options, '--'])} ", 1)
    return f"no comparison of {sides}{at}: {proposed}"


def plateau(asked: Plateau, facts: Facts) -> Computed:
    """Met when the last comparisons that settled the metric found nothing better. One that is open says nothing yet."""
    if metric_named(asked.metric, facts.metrics).direction is None:
        return not_computable(f"{asked.metric} has no direction: which way is better is not stated")
    of: dict[str, list[Found]] = {}
    for found in facts.findings(asked.metric, asked.where):
        of.setdefault(found[0].entry, []).append(found)
    gains = {
        entry: [one for one in found if one[1].outcome is Outcome.BETTER and abs(one[1].change or 0.0) > asked.within]
        for entry, found in of.items()
        if all(f.is_settled and a.question.minimum_effect <= asked.within for a, f in found)
        or any(f.outcome is Outcome.BETTER for _, f in found)
    }
    last = [*gains][-asked.entries :]
    if better := [one for entry in last for one in gains[entry]]:
        return unmet(_said(better[-1]), last)
    if len(last) < asked.entries:
        return unmet(f"{len(last)} of {asked.entries} comparisons in {asked.metric} are settled", last)
    return met(f"the last {asked.entries} comparisons in {asked.metric} found nothing better", last)
