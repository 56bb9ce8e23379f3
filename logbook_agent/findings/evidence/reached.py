"""Whether runs settle that a number was reached, or one of them was lucky.

Were the median of a case just at the number, each run would reach it as a coin falls (the sign test). So many must have
reached it that this would be a rare coincidence, also when the question is asked after every run, and of every case.
"""

from __future__ import annotations

import math

from logbook_agent.model.stats.sequential import threshold

# The fewest runs that settle anything: five coins show heads in 3%.
FEWEST_RUNS = 5


def bears_out(reaching: int, runs: int, cases: int = 1) -> bool:
    """Whether so many of the runs of a case settle that it reaches a number; it is the best of so many cases."""
    if runs < FEWEST_RUNS:
        return False
    chance: float = sum(math.comb(runs, k) for k in range(reaching, runs + 1)) / 2**runs
    return chance <= threshold(runs - FEWEST_RUNS + 1) / cases


def runs_needed(reaching: int, runs: int, cases: int = 1) -> int:
    """How many more runs would settle it, did all of them reach the number."""
    more = 1
    while not bears_out(reaching + more, runs + more, cases):
        more += 1
    return more
