"""`logbook table`: the rows of entries as one table."""

from __future__ import annotations

from collections.abc import Sequence

from logbook_agent.errors import UsageError
from logbook_agent.findings.cases import cases
from logbook_agent.findings.measured import without_mended
from logbook_agent.store.book import Book
from logbook_agent.tables import Case, Table, TableSpec, tabulate
from logbook_agent.workflows.workspace import Workspace


def table(workspace: Workspace, entry_ids: Sequence[str], spec: TableSpec) -> tuple[Book, list[Case], Table]:
    """The rows of the entries, in the order they are named. Raises UsageError when they have none."""
    if not entry_ids:
        raise UsageError("no entry named", cause="a table needs the rows of an entry", hint="logbook table ID")
    book = workspace.book(entry_ids[0])
    found = cases(*(without_mended(book.record(entry_id)) for entry_id in entry_ids))
    if not found:
        raise UsageError(
            f"{', '.join(entry_ids)} has no rows",
            cause="no run of it printed a RESULT, METRIC or RESULT_JSON line",
            hint=f"logbook show {entry_ids[0]}",
        )
    return book, found, tabulate(found, spec, declared=book.header.metrics)
