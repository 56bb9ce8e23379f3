"""Tables of measured rows: varied axes as columns, a pivot, deltas, ratios and means."""

from logbook_agent.findings.tables.build import matching, repeats, tabulate
from logbook_agent.findings.tables.export import to_csv
from logbook_agent.findings.tables.naming import parse_axes, parse_metrics
from logbook_agent.findings.tables.spec import Case, Column, Repeats, Table, TableSpec

__all__ = [
    "Case",
    "Column",
    "Repeats",
    "Table",
    "TableSpec",
    "matching",
    "parse_axes",
    "parse_metrics",
    "repeats",
    "tabulate",
    "to_csv",
]
