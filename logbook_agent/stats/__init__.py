"""Summaries of samples, in plain Python: importing them costs nothing."""

from logbook_agent.stats.summary import (
    Spread,
    arithmetic_mean,
    geometric_mean,
    mad,
    median,
    quantile,
    spread,
)

__all__ = ["Spread", "arithmetic_mean", "geometric_mean", "mad", "median", "quantile", "spread"]
