"""Summaries of samples, in plain Python: importing them costs nothing."""

from logbook_agent.stats.summary import median

__all__ = ["median"]
