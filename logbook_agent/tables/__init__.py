"""Tables of measured rows: varied axes as columns, a pivot, deltas, ratios and means."""

from logbook_agent.tables.build import matching, repeats, tabulate
from logbook_agent.tables.export import to_csv
from logbook_agent.tables.naming import parse_axes, parse_metrics
from logbook_agent.tables.spec import Case, Column, Repeats, Table, TableSpec

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
