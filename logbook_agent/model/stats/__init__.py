"""Statistics of samples and runs, in plain Python.

`logbook_agent.model.stats` gives the median, which every command needs. The rest is imported from its module:
`summary` (mean, spread), `noise` (floors), `change` (steps in a series).
"""

from logbook_agent.model.stats.summary import median

__all__ = ["median"]
