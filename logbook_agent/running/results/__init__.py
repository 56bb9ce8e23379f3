"""Rows of measurements from what a command prints or writes. Pure."""

from logbook_agent.model.values import canonical, parse_scalar, row_key
from logbook_agent.running.results.reader import ResultReader, ResultReading

__all__ = ["ResultReader", "ResultReading", "canonical", "parse_scalar", "row_key"]
