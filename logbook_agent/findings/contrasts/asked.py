"""A question that an entry keeps, answered from records."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from logbook_agent.findings.case import keys_of
from logbook_agent.findings.cases import cases, counting
from logbook_agent.findings.contrasts.answers import Answer, Ask, answer_sides, answer_values, judged_values, tests_of
from logbook_agent.findings.contrasts.likeness import Terms
from logbook_agent.findings.contrasts.numbers import Compared
from logbook_agent.findings.tables.build import matching
from logbook_agent.findings.tables.frame import listed, show
from logbook_agent.findings.tables.spec import Case
from logbook_agent.model.entry import Comparison, Entry, entry_of
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Metric
from logbook_agent.model.record import Record


def rows_of(asked: Comparison, records: Mapping[str, Record]) -> list[list[Case]]:
    """The rows of each reference, with the values asked for, out of `records` by ID. Raises UsageError for one that
    has none.

    The fresh runs that confirm the best case of a sweep are no repeats of it: they stand with an entry only where they
    are named, as `ID/RUN` or `ID:confirmation`.
    """
    # Together, so that one code has one name on all sides.
    found = counting(cases(*(records[entry] for entry in asked.entries)))
    confirming = {(entry, run) for entry, record in records.items() for run in record.confirmations}
    plain = [c for c in found if (c.entry, c.run) not in confirming]
    sides = [
        [c for c in (plain if reference == entry_of(reference) else found) if _holds(reference, c)]
        for reference in asked.references
    ]
    for reference, side in zip(asked.references, sides, strict=True):
        if not side:
            raise _no_rows(reference, records[entry_of(reference)])
    if any(reference != entry_of(reference) for reference in asked.references):
        sides = _marked(sides, plain)
    if asked.where:
        wanted = {k: show(v) for k, v in asked.where.items()}
        kept = {id(case) for case in matching([c for side in sides for c in side], wanted)}
        sides = [[c for c in side if id(c) in kept] for side in sides]
        for reference, side in zip(asked.references, sides, strict=True):
            if not side and asked.axis is None:
                where = " ".join(f"--where {k}={v}" for k, v in wanted.items())
                raise UsageError(
                    f"no row of {reference} has {where.replace('--where ', '')}",
                    cause="the other side has such rows, this side does not",
                    hint=f"see what it has: logbook table {entry_of(reference)}",
                )
    return sides


def answers_of(
    asked: Comparison,
    rows: Sequence[list[Case]],
    declared: Sequence[Metric],
    whole: Callable[[Comparison], Sequence[list[Case]]] | None = None,
) -> tuple[Answer, ...]:
    """The answers from the rows of each reference. Raises UsageError for names or values that they do not have.

    `whole` gives the rows of another question: of all that the entries measured, from which the rows of this one were
    chosen; None: they were stated before anything was run.
    """
    ask = ask_of(asked, declared)
    among = None
    if whole is not None and _is_narrow(asked):
        among = functools.partial(_tests, asked, whole, declared)
    if asked.axis is not None:
        # A row that two references hold is one row.
        return tuple(answer_values(list({id(c): c for side in rows for c in side}.values()), ask, among))
    base, other = asked.references
    if {id(c) for c in rows[0]} & {id(c) for c in rows[1]}:
        raise UsageError(
            f"{base} and {other} hold the same rows",
            cause="a row cannot be compared with itself",
            hint="name different runs, by number or label: logbook compare ID/1 ID/2",
        )
    return tuple(answer_sides(rows[0], rows[1], (base, other), ask, among))


def is_planned(asked: Comparison, entry: Entry) -> bool:
    """Whether an entry states the question with the order of its runs: before the first of them."""
    if entry.design is None or not entry.comparisons:
        return False
    first = entry.comparisons[0]
    return (first.axis, first.base_value, first.metrics, first.where) == (
        asked.axis, asked.base_value, asked.metrics, asked.where,
    )  # fmt: skip


def _is_narrow(asked: Comparison) -> bool:
    return bool(asked.where or asked.metrics) or any(r != entry_of(r) for r in asked.references)


def _tests(
    asked: Comparison, whole: Callable[[Comparison], Sequence[list[Case]]], declared: Sequence[Metric]
) -> list[Compared]:
    """The verdicts that the same question has of all that its entries measured."""
    primary = tuple(m.name for m in declared if m.primary)
    metrics = tuple(dict.fromkeys((*primary, *asked.metrics))) if primary else ()
    every = replace(asked, references=asked.entries, where={}, metrics=metrics)
    if every.axis is None and len(every.references) < 2:
        return []
    with contextlib.suppress(UsageError):
        rows = whole(every)
        ask = ask_of(every, declared)
        if every.axis is not None:
            return tests_of(judged_values([c for side in rows for c in side], ask))
        base, other = every.references[:2]
        return tests_of(answer_sides(rows[0], rows[1], (base, other), ask))
    return []


def ask_of(asked: Comparison, declared: Sequence[Metric]) -> Ask:
    return Ask(
        terms=Terms(axis=asked.axis, implied=asked.implied, allowed=asked.allowed),
        metrics=asked.metrics,
        base_value=asked.base_value,
        minimum_effect=asked.minimum_effect,
        apart_s=asked.apart_s,
        declared=tuple(declared),
    )


def _holds(reference: str, case: Case) -> bool:
    """Whether a row is one of `ID`, `ID/RUN` or `ID:LABEL`."""
    entry = entry_of(reference)
    rest = reference[len(entry) :]
    if case.entry != entry:
        return False
    if rest.startswith("/"):
        return rest[1:] == str(case.run)
    return not rest or rest[1:] == case.label


def _marked(sides: Sequence[list[Case]], plain: Sequence[Case]) -> list[list[Case]]:
    """The same, with a mark on rows of cases of which an entry has others."""
    chosen = {(c.entry, c.run) for side in sides for c in side}
    entries = {entry for entry, _ in chosen}
    own = [c for c in plain if c.entry in entries]
    keys = dict(zip(map(id, own), keys_of(own), strict=True))
    others = {(c.entry, keys[id(c)]) for c in own if (c.entry, c.run) not in chosen}
    marked = {
        id(c): replace(c, picked=True) for side in sides for c in side if (c.entry, keys.get(id(c), "")) in others
    }
    # A row that two references hold stays one row.
    return [[marked.get(id(c), c) for c in side] for side in sides]


def _no_rows(reference: str, record: Record) -> UsageError:
    entry = record.id
    rest = reference[len(entry) :]
    with_rows = [s.run for s in record.runs if s.run.rows and s.counts]
    if not with_rows and any(s.run.rows for s in record.runs):
        return UsageError(
            f"{entry} has only rows of warm-ups",
            cause="its runs were made with --discard, so that nothing counts them",
            hint=f"logbook run --id {entry} -- COMMAND",
        )
    if not with_rows or not rest:
        return UsageError(
            f"{entry} has no rows",
            cause="none of its runs printed a RESULT, METRIC or RESULT_JSON line",
            hint=f"logbook show {entry}",
        )
    there = [f"{entry}/{run.run}" for run in with_rows] + [f"{entry}:{run.label}" for run in with_rows if run.label]
    there = list(dict.fromkeys(there))
    near = get_close_matches(reference, there, n=1) or there
    return UsageError(
        f"no rows in {reference}",
        cause=f"rows are in {listed(there)}",
        hint=f"{near[0]!r} names some" if " " in near[0] else f"{near[0]} names some",
    )
