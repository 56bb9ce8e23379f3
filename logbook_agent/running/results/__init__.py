"""Rows of measurements from what a command prints or writes. Pure."""

from logbook_agent.model.values import canonical, parse_scalar, row_key
from logbook_agent.running.results.reader import Reading, ResultReader

__all__ = ["Reading", "ResultReader", "canonical", "parse_scalar", "row_key"]
