"""Predicates over pairs of cases that differ in nothing but what is tested."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from logbook_agent.findings.contrasts.likeness import Terms
from logbook_agent.findings.criteria.outcome import MET, met, not_computable, unmet
from logbook_agent.findings.criteria.predicate import PairsCompared, Sweep, VerdictStated
from logbook_agent.findings.criteria.select import Rows, combinations, reference, words
from logbook_agent.findings.evidence.answers import Answer, Ask, Line, answer_values, held, judged_values, tests_of
from logbook_agent.findings.evidence.compared import Compared
from logbook_agent.findings.evidence.verdict import Verdict
from logbook_agent.findings.tables.frame import show
from logbook_agent.findings.tables.spec import Case
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Computed, Metric
from logbook_agent.model.values import Scalar


def compared(predicate: PairsCompared, cases: Sequence[Case], metrics: tuple[Metric, ...]) -> Computed:
    """Enough pairs with numbers on both sides, for each other value and every combination; where verdicts are asked
    for, every pair that matches has one of these, and no two of them contradict each other."""
    rows = Rows(cases)
    missing = rows.missing([predicate.axis, *predicate.where, *predicate.for_each])
    if missing is not None:
        return missing
    ask = _ask(predicate, metrics)
    asked = [(c, value) for c in combinations(predicate.for_each) for value in predicate.values[1:]]
    answers: list[list[Answer]] = []
    for combination, value in asked:
        found = _at(predicate, rows, combination, value, ask)
        if isinstance(found, Computed):
            return found
        answers.append(found)
    # One question, however many values and combinations it names.
    together = iter(held([a for one in answers for a in one], lambda: _tests(rows, answers, ask)))
    evidence: list[str] = []
    said: list[str] = []
    for (combination, value), own in zip(asked, answers, strict=True):
        place = words({**combination, predicate.axis: value})
        outcome = _outcome(predicate, place, [next(together) for _ in own])
        if outcome.state != MET:
            return outcome
        evidence += outcome.evidence
        said.append(outcome.reason)
    return met("; ".join(said), evidence)


def _ask(predicate: PairsCompared, metrics: tuple[Metric, ...]) -> Ask:
    return Ask(
        terms=Terms(axis=predicate.axis, implied=predicate.implied, allowed=predicate.allow),
        metrics=(predicate.metric,) if predicate.metric else (),
        base_value=show(predicate.values[0]),
        minimum_effect=predicate.min_effect if isinstance(predicate, VerdictStated) else 0.01,
        declared=metrics,
    )


def _tests(rows: Rows, answers: Sequence[Sequence[Answer]], ask: Ask) -> list[Compared]:
    """The verdicts that the entries give whose rows are asked about: of all their values, cases and metrics. Those
    that a criterion names may be the ones that came out well."""
    lines = _lines([answer for own in answers for answer in own])
    entries = {i.case.entry for line in lines for g in (line.pair.base, line.pair.other) for i in g.items}
    every = [i.case for i in rows.frame.items if i.case.entry in entries]
    primary = tuple(m.name for m in ask.declared if m.primary)
    metrics = tuple(dict.fromkeys((*primary, *ask.metrics))) if primary else ()
    with contextlib.suppress(UsageError):
        return tests_of(judged_values(every, replace(ask, metrics=metrics)))
    return []


def _at(
    predicate: PairsCompared, rows: Rows, combination: Mapping[str, Scalar], value: Scalar, ask: Ask
) -> list[Answer] | Computed:
    """One value against the base in one combination, judged by itself; or why it cannot be."""
    place = words({**combination, predicate.axis: value})
    sides: list[Case] = []
    for side in (predicate.values[0], value):
        chosen = rows.choose({**predicate.where, **combination, predicate.axis: side}, predicate.device)
        if not chosen:
            return unmet(f"{place}: no row with {predicate.axis}={show(side)}", map(reference, sides))
        sides += chosen
    try:
        answers = judged_values(sides, ask)
    except UsageError as error:
        return not_computable(f"{place}: {error.message}")
    if not isinstance(predicate, VerdictStated):
        return answers
    # With the metric alone that decides: the one that was named, else the first primary one.
    return [replace(a, lines=tuple(replace(line, metrics=line.metrics[:1]) for line in a.lines)) for a in answers]


def _outcome(predicate: PairsCompared, place: str, answers: Sequence[Answer]) -> Computed:
    """What the pairs of one value in one combination come to."""
    verdicts = predicate.verdicts if isinstance(predicate, VerdictStated) else None
    good = [line for line in _lines(answers) if _holds(line, verdicts)]
    if len(good) < predicate.cases:
        return unmet(f"{place}: {_why(answers, len(good), predicate.cases, verdicts)}", _runs(_lines(answers)))
    if verdicts is not None and (open_ones := len(_lines(answers)) - len(good)):
        every = len(_lines(answers))
        return unmet(
            f"{place}: {open_ones} of {every} matching cases lack a verdict of {' or '.join(verdicts)}",
            _runs(_lines(answers)),
        )
    if {Verdict.BENEFICIAL, Verdict.REGRESSIVE} <= {
        m.judgement.verdict for x in good for m in x.metrics if m.judgement
    }:
        return unmet(f"{place}: the verdicts contradict each other: {_verdicts(good)}", _runs(good))
    what = _verdicts(good) if verdicts is not None else f"{len(good)} pair{'s' * (len(good) != 1)} may be compared"
    return met(f"{place}: {what}", _runs(good))


def _holds(line: Line, verdicts: Sequence[str] | None) -> bool:
    """Some metric of the pair has a ratio of what is alike, or a verdict of these that nothing withholds."""
    if verdicts is None:
        return any(metric.is_alike and metric.ratio is not None for metric in line.metrics)
    return any(
        metric.judgement is not None and not metric.withheld_by and metric.judgement.verdict in verdicts
        for metric in line.metrics
    )


def _why(answers: Sequence[Answer], good: int, wanted: int, verdicts: Sequence[str] | None) -> str:
    noun = f"pair{'s' * (wanted != 1)}"
    what = f"{noun} that may be compared" if verdicts is None else f"{noun} with a verdict ({', '.join(verdicts)})"
    withheld = [line.pair.likeness.withheld_by for line in _lines(answers)]
    withheld += [m.withheld_by for line in _lines(answers) for m in line.metrics]
    differences = dict.fromkeys(d.name for found in withheld for d in found)
    reasons = dict.fromkeys(r for line in _lines(answers) for m in line.metrics for r in m.reasons)
    why = [f"withheld by {', '.join(differences)}"] if differences else list(reasons)[:2]
    return f"{good} of {wanted} {what}" + (f": {'; '.join(why)}" if why else "")


def _verdicts(lines: Iterable[Line]) -> str:
    found = [(m, m.judgement.verdict) for line in lines for m in line.metrics if m.judgement is not None]
    looks = max((m.layout.looks for m, _ in found if m.layout is not None), default=1)
    said = ", ".join(dict.fromkeys(f"{m.metric} {verdict}{m.marked}" for m, verdict in found))
    return said + (f" (judged for {looks} looks)" if looks > 1 else "")


def swept(predicate: Sweep, cases: Sequence[Case], metrics: tuple[Metric, ...]) -> Computed:
    """Each value was measured and, with controls, beside its control."""
    rows = Rows(cases)
    unknown = rows.missing([predicate.axis, *predicate.where, *predicate.controls, *predicate.for_each])
    if unknown is not None:
        return unknown
    evidence: list[str] = []
    missing: list[str] = []
    for combination in combinations(predicate.for_each):
        for value in predicate.values:
            at = {**combination, predicate.axis: value}
            own = rows.choose({**predicate.where, **at}, predicate.device)
            if not own:
                missing.append(f"{words(at)} was not measured")
            elif not predicate.controls:
                evidence += map(reference, own)
            else:
                control = rows.choose({**predicate.where, **at, **predicate.controls}, predicate.device)
                found, why = _controlled(predicate, own, control, metrics)
                evidence += found
                missing += [] if found else [f"{words(at)}: {why}"]
    if missing:
        more = f"; and {len(missing) - 2} more" if len(missing) > 2 else ""
        return unmet("; ".join(missing[:2]) + more, evidence)
    return met(f"{len(predicate.values)} values of {predicate.axis}", evidence)


def _controlled(
    predicate: Sweep, own: Sequence[Case], control: Sequence[Case], metrics: tuple[Metric, ...]
) -> tuple[list[str], str]:
    """The runs of the pairs of cases with their controls; none, with the reason, where there is no such pair."""
    if not control:
        return [], f"no control with {words(predicate.controls)}"
    axis, *others = predicate.controls
    terms = Terms(axis=axis, implied=(*others, *predicate.implied), allowed=predicate.allow)
    ask = Ask(terms=terms, base_value=show(predicate.controls[axis]), declared=metrics)
    try:
        answers = answer_values([*control, *(t for t in own if t not in control)], ask)
    except UsageError as error:
        return [], error.message
    found = _runs(line for line in _lines(answers) if _holds(line, None))
    return found, "" if found else _why(answers, 0, 1, None)


def _lines(answers: Iterable[Answer]) -> list[Line]:
    return [line for answer in answers for line in answer.lines]


def _runs(lines: Iterable[Line]) -> list[str]:
    return [reference(i.case) for line in lines for group in (line.pair.base, line.pair.other) for i in group.items]
