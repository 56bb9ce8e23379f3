"""Clocks of other machines."""

from __future__ import annotations

from datetime import datetime

from logbook_agent.text.times import duration

# Smaller differences are not reported.
_SLACK_S = 60.0


def clock_problems(began: str, ended: str, *, sent: float, now: float) -> tuple[str, ...]:
    """What is wrong with the times of a run that was submitted and is over, by this machine's clock (seconds since the
    epoch). A clock that is ahead shows only in a run that ended not long ago."""
    behind_s = sent - datetime.fromisoformat(began).timestamp()
    ahead_s = datetime.fromisoformat(ended).timestamp() - now
    if behind_s > _SLACK_S:
        how, off_s, seems = "behind", behind_s, "the run began before it was submitted"
    elif ahead_s > _SLACK_S:
        how, off_s, seems = "ahead", ahead_s, "the run has not ended yet"
    else:
        return ()
    return (f"the clock of that machine is {how} by {duration(off_s)} or more: its times say that {seems}",)
