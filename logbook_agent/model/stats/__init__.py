"""Statistics of samples and runs, in plain Python.

`logbook_agent.model.stats` gives the median, which every command needs. The rest is imported from its module:
`summary` (quantiles, mean, spread), `bootstrap` (intervals), `ranks` (tests), `noise` (floors), `distributions`.
"""

from logbook_agent.model.stats.summary import median

__all__ = ["median"]
