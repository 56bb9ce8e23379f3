"""A table as a user gets it: through the template."""

from __future__ import annotations

from logbook_agent.report.blocks import table_text
from logbook_agent.report.templates import Templates
from logbook_agent.tables import Table


def to_markdown(table: Table) -> str:
    return table_text(Templates(), table)
