"""Rows of measurements from what a command prints or writes. Pure."""

from logbook_agent.results.reader import Reading, ResultReader
from logbook_agent.results.values import canonical, parse_scalar, row_key

__all__ = ["Reading", "ResultReader", "canonical", "parse_scalar", "row_key"]
