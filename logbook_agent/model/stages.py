"""Which entries have come to an end, and which wait for something."""

from __future__ import annotations

from logbook_agent.model.entry import ABANDONED, State

# Blocked work goes on one day; a void ID never was an entry.
_SETTLED: frozenset[State] = frozenset({"finished", "failed", "timeout", "interrupted", ABANDONED, "noted"})
# In the order of how much they want attention.
OPEN: tuple[State, ...] = ("running", "orphaned", "blocked", "planned")


def settled(state: State) -> bool:
    """Whether an entry in this state can be told about as done."""
    return state in _SETTLED
