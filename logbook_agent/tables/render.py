"""A table as Markdown."""

from __future__ import annotations

from logbook_agent.markdown import text
from logbook_agent.tables.spec import Table


def to_markdown(table: Table, *, notes: bool = True) -> str:
    """The table; with `notes`, below it the config that all rows share and the notes, as a list.

    An empty table is the empty string.
    """
    if not table.columns:
        return ""
    parts = [
        text.table(
            [column.name for column in table.columns],
            [list(row) for row in table.rows],
            numeric=[column.numeric for column in table.columns],
        )
    ]
    lines = [text.escape(note) for note in table.notes]
    if table.constants:
        shared = " ".join(f"{name}={value}" for name, value in table.constants.items())
        lines.insert(0, f"same in all rows: {text.inline_code(shared)}")
    if notes and lines:
        parts.append(text.items(lines))
    return "\n\n".join(parts)
