"""What `logbook watch` says of the records of a logbook: answers, newest results, best so far, criteria. Plain data."""

from __future__ import annotations

from typing import Any

from logbook_agent.findings.status import OnMachine, status
from logbook_agent.report.live.follower import LiveBook

# Of what `status` says.
_PARTS = (
    *("logbook", "asked", "settled", "not_settled", "open_questions"),
    *("closed", "entries", "best", "criteria", "last", "next_actions"),
)


def standing(followed: LiveBook) -> dict[str, Any]:
    """Where the thread stands, as `status` has it. Raises LogbookError where a record vanishes meanwhile."""
    found = followed.found
    if found is None:
        return {}
    answer = status(found, OnMachine(view=""))
    return {name: answer[name] for name in _PARTS}
