"""Stop criteria held against what was measured."""

from __future__ import annotations

import dataclasses
from datetime import date
from typing import TYPE_CHECKING, Any

from logbook_agent.findings.criteria.outcome import not_computable
from logbook_agent.findings.standing import claim_of, standings
from logbook_agent.model.entry import settled
from logbook_agent.model.errors import UsageError
from logbook_agent.model.header import Criterion, Header

if TYPE_CHECKING:
    from logbook_agent.findings.criteria.evaluate import Facts
    from logbook_agent.store.book import Book
    from logbook_agent.store.workspace import Workspace


def has_predicates(header: Header) -> bool:
    """Whether the header's criteria say something of the rows of all entries."""
    return any(c.predicate is not None for c in header.stop_criteria)


def with_outcomes(workspace: Workspace, book: Book, header: Header | None = None) -> Header:
    """The header, its predicates held against the records as they stand. Where there are none, nothing is read."""
    header = book.header if header is None else header
    if not has_predicates(header):
        return header
    facts = _facts(workspace, book, header)
    found = tuple(_computed(criterion, facts) for criterion in header.stop_criteria)
    return dataclasses.replace(header, stop_criteria=found)


def _computed(criterion: Criterion, facts: Facts) -> Criterion:
    # Statistics and tables are loaded for those that need them.
    from logbook_agent.findings.criteria.evaluate import evaluate
    from logbook_agent.findings.criteria.predicate import PredicateError, parse

    if criterion.predicate is None:
        return criterion
    try:
        computed = evaluate(parse(criterion.predicate), facts)
    except PredicateError as error:
        computed = not_computable(f"predicate: {error}")
    return dataclasses.replace(criterion, computed=computed)


def _facts(workspace: Workspace, book: Book, header: Header) -> Facts:
    from logbook_agent.findings.cases import cases
    from logbook_agent.findings.criteria.evaluate import Facts

    records = book.contents().records  # what cannot be read is reported where it is shown
    standing = standings(claim_of(r.entry, r.state) for r in records)
    counted = [r for r in records if settled(r.state) and standing[r.id].counts]
    runs = [status.run for record in records for status in record.runs]
    return Facts(
        cases=cases(*counted),
        metrics=header.metrics,
        now=workspace.now(),
        runs=len(runs),
        hours=sum(run.duration_s or 0.0 for run in runs) / 3600,
    )


def checked_predicate(data: object) -> dict[str, Any]:
    """A predicate as a header keeps it: plain data, dates as text. Raises UsageError for what is none."""
    from logbook_agent.findings.criteria.predicate import PredicateError, parse

    plain = _plain(data)
    try:
        parse(plain)
    except PredicateError as error:
        raise UsageError(
            f"the predicate is not valid: {error}",
            cause="docs/reference/criteria.md lists the predicates that check a stop criterion",
            hint="write it in this form: {compared: {axis: quant_mode, values: [none, int8]}}",
        ) from None
    assert isinstance(plain, dict)  # noqa: S101  else it would not have been read
    return plain


def _plain(data: object) -> object:
    if isinstance(data, date):
        return data.isoformat()
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_plain(value) for value in data]
    return data
