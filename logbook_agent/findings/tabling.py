"""`logbook table`: the rows of entries as one table."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.findings.cases import cases, without_mended
from logbook_agent.findings.read import read
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.spec import Case, Table, TableSpec
from logbook_agent.model.errors import UsageError
from logbook_agent.store.book import Book
from logbook_agent.store.workspace import Workspace


def table(workspace: Workspace, entry_ids: Sequence[str], spec: TableSpec) -> tuple[Book, list[Case], Table]:
    """The rows of the entries, in the order they are named; of none, those of all that count. Raises UsageError when
    they have none."""
    book = workspace.book(entry_ids[0]) if entry_ids else workspace.book()
    whole = read(workspace, book)
    records = [book.record(entry_id) for entry_id in entry_ids] if entry_ids else whole.counting
    if not entry_ids:
        workspace.warnings += [f"not shown: {error.message}" for error in whole.contents.damaged]
    found = cases(*map(without_mended, records))
    if not found and not entry_ids:
        raise UsageError(
            f"{book.header.topic} has no rows yet",
            cause="no run of an entry that counts printed a RESULT, METRIC or RESULT_JSON line",
            hint="logbook run -- COMMAND",
        )
    if not found:
        raise UsageError(
            f"{', '.join(entry_ids)} has no rows",
            cause="none of its runs printed a RESULT, METRIC or RESULT_JSON line",
            hint=f"logbook show {entry_ids[0]}",
        )
    return book, found, tabulate(found, spec, declared=book.header.metrics)
