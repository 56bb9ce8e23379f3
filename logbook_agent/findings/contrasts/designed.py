"""Which comparison answers what is asked of two sides: one that holds both of them by its design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from logbook_agent.model.comparison import CODE_AXIS
from logbook_agent.model.entry import Contrast, entry_of
from logbook_agent.model.record import Record
from logbook_agent.model.values import canonical

if TYPE_CHECKING:
    from logbook_agent.findings.comparison.answers import Answer
    from logbook_agent.findings.read import Findings


def designed(findings: Findings, asked: Contrast) -> Answer | None:
    """The answer of the comparison that holds the sides of a contrast, with the metrics and cases that are asked for;
    None where no comparison does. Its base is the one that it states."""
    if any(findings.entry(entry).comparison is None for entry in asked.entries):
        return None
    records = {entry: findings.records.record(entry) for entry in asked.entries}
    for answer in reversed(findings.answers):
        if {*asked.entries} <= {*answer.entries} and _asks(answer, asked) and _holds(asked, records):
            found = tuple(
                f
                for f in answer.findings
                if (not asked.metrics or f.metric in asked.metrics)
                and all(canonical(f.case.get(k)) == canonical(v) for k, v in asked.where.items())
            )
            if {*asked.metrics} <= {f.metric for f in found} and (found or not asked.where):
                return replace(answer, findings=found)
    return None


def _asks(answer: Answer, asked: Contrast) -> bool:
    """Whether it is about this axis, with this base or another one of two sides."""
    question, base = answer.question, asked.base_value
    if asked.axis not in (None, question.axis) and (asked.axis, question.axis) != ("commit", CODE_AXIS):
        return False
    names = question.values if len(question.sides) == 1 else (question.base,)
    return base is None or base in names or canonical(base) in names


def _holds(asked: Contrast, records: Mapping[str, Record]) -> bool:
    """Whether the runs that are named, if any, are runs of the comparison, of different sides."""
    sides: list[set[str]] = []
    for reference in asked.references:
        record = records[entry_of(reference)]
        rest = reference[len(record.id) :]
        of = [
            s.run for s in record.runs if rest in ("", f"/{s.run.run}", f":{s.run.label}") and s.run.rows and s.counts
        ]
        if rest and not all(run.part for run in of):
            return False
        sides.append({run.part.side for run in of if run.part})
    if all(reference in records for reference in asked.references):
        return True
    if asked.axis is None and len(sides) == 2:
        return sides[0].isdisjoint(sides[1]) and all(sides)
    return len(set().union(*sides)) > 1
