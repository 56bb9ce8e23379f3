"""`logbook table`: the rows of entries as one table, with what comparisons found of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from logbook_agent.findings.cases import Case, cases, without_mended
from logbook_agent.findings.comparison.answer import Answer
from logbook_agent.findings.comparison.words import sentence
from logbook_agent.findings.read import Findings
from logbook_agent.findings.tables.build import matching, tabulate
from logbook_agent.findings.tables.frame import frame_of, show
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.model.errors import UsageError
from logbook_agent.model.values import canonical
from logbook_agent.text.words import bounded

_SHOWN_FINDINGS = 12


def table(found: Findings, entry_ids: Sequence[str], spec: TableSpec) -> tuple[list[Case], Table]:
    """The rows of the entries, in the order they are named; of none, those of all that count. Raises UsageError when
    they have none."""
    header = found.records.header
    records = [found.records.record(entry_id) for entry_id in entry_ids] if entry_ids else found.counting
    rows = cases(*map(without_mended, records))
    if not rows:
        raise UsageError(
            f"{', '.join(entry_ids)} has no rows" if entry_ids else f"{header.topic} has no rows yet",
            cause=f"{'none of its runs' if entry_ids else 'no run of an entry that counts'}"
            " printed a RESULT, METRIC or RESULT_JSON line",
            hint=f"logbook show {entry_ids[0]}" if entry_ids else "logbook run -- COMMAND",
        )
    if not (spec.delta or spec.ratio):
        return rows, tabulate(rows, spec, declared=header.metrics)
    entries = {case.entry for case in rows}
    answers = [a for a in found.answers if entries & {*a.entries} and spec.pivot in (None, a.question.axis)]
    made = tabulate(rows, _from_base(spec, answers, rows), declared=header.metrics)
    return rows, dataclasses.replace(made, notes=(*made.notes, *_answered(answers, spec.where)))


def _from_base(spec: TableSpec, answers: Sequence[Answer], found: Sequence[Case]) -> TableSpec:
    """With the base that the comparisons over the pivot state as its first value, whichever side ran first."""
    bases = {a.question.base for a in answers}
    if spec.pivot is None or spec.base is not None or spec.values or len(bases) != 1:
        return spec
    [base] = bases
    frame, pivot = frame_of(matching(found, spec.where)), spec.pivot
    if not (of_base := frame.having({pivot: base})):
        return spec
    values = (show(item.place.get(pivot)) for item in (*of_base, *frame.items))
    return dataclasses.replace(spec, values=tuple(dict.fromkeys(values)))


def _answered(answers: Sequence[Answer], where: Mapping[str, str]) -> list[str]:
    """What comparisons found of the rows that are shown: the changes of a table are plain numbers."""
    wanted = {name: canonical(value) for name, value in where.items()}
    found = [
        f"{a.entry}: {sentence(a, f)}"
        for a in answers
        for f in a.goals
        if all(f.config.get(name, value) == value for name, value in wanted.items())
    ]
    return bounded(found, _SHOWN_FINDINGS, "more findings: logbook compare ID")
