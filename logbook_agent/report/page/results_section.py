"""The values of the template of the table of all results: metrics before config."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from logbook_agent.findings.cases import cases, without_mended
from logbook_agent.findings.tables.build import tabulate
from logbook_agent.findings.tables.spec import Table, TableSpec
from logbook_agent.report.page.entry_section import Around
from logbook_agent.text.markdown import cut_line
from logbook_agent.text.shell_words import assignments

# A page of a thousand entries stays small.
_SHOWN_ROWS = 2000
_LINE_CHARS = 100
_ENTRY = "entry"


def results(around: Around) -> dict[str, object]:
    """The rows of all entries that count, in one table."""
    findings = around.findings
    table = tabulate(cases(*map(without_mended, findings.counting)), TableSpec(), declared=findings.header.metrics)
    rows, order = table.rows[:_SHOWN_ROWS], _columns(table)
    notes = list(table.notes)
    if len(table.rows) > len(rows):
        notes.insert(0, f"the first {len(rows):,} of {len(table.rows):,} rows; all of them: logbook table --csv")
    same = assignments(table.constants)
    return {
        "columns": [
            {"name": table.columns[at].name, "numeric": table.columns[at].numeric, "role": r} for at, r in order
        ],
        "rows": [
            {
                "entry": own[0].entry,
                "cells": [_link(row[at]) if row[at] in around.ids else row[at] for at, _ in order],
            }
            for row, own in zip(rows, table.cases, strict=False)
        ],
        "same": same,
        "same_line": cut_line(same, _LINE_CHARS),
        "total": len(table.rows),
        "notes": notes,
    }


def _link(entry_id: str) -> Markup:
    return Markup('<a class="id" href="#{0}">{0}</a>').format(entry_id)


def _columns(table: Table) -> list[tuple[int, str]]:
    """The places of the columns as a reader wants them, each with its role: what a row is called, then metrics, then
    the other axes."""
    axes: Sequence[int] = range(table.axes)
    lead = next((at for at in axes if table.columns[at].name == _ENTRY), axes[0] if axes else None)
    return [
        *([(lead, "lead")] if lead is not None else []),
        *((at, "metric") for at in range(table.axes, len(table.columns))),
        *((at, "axis") for at in axes if at != lead),
    ]
