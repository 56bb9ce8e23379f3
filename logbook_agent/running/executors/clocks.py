"""Clocks of other machines that are wrong: the times of a run come from there."""

from __future__ import annotations

from datetime import datetime

from logbook_agent.text.times import duration

# Clocks that differ by less are not told.
_SLACK_S = 60.0


def clock_problems(began: str, ended: str, *, sent: float, now: float) -> tuple[str, ...]:
    """What is wrong with the times of a run that was submitted and is over, by this machine's clock (seconds since the
    epoch). A clock that is ahead shows only in a run that ended not long ago."""
    behind_s = sent - datetime.fromisoformat(began).timestamp()
    ahead_s = datetime.fromisoformat(ended).timestamp() - now
    if behind_s > _SLACK_S:
        return (
            f"the clock there is behind by {duration(behind_s)} or more: by it, the run began before it was submitted",
        )
    if ahead_s > _SLACK_S:
        return (f"the clock there is ahead by {duration(ahead_s)} or more: by it, the run has not ended yet",)
    return ()
