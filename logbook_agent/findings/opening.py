"""The first lines of a thread, with which status, view, issue and page begin: what was asked, what its comparisons
found, what is open and the command that would settle it, and the next action."""

from __future__ import annotations

from dataclasses import dataclass

# So many sentences are shown where there is room for few.
SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A finding of a comparison in one sentence (`text`), with its entry. Of an open one `to_settle` says what would
    settle it, and the first one of a comparison has the `command` to type for that."""

    entry: str
    title: str
    text: str
    outcome: str
    metric: str = ""
    side: str = ""
    case: str = ""
    is_goal: bool = True
    confidence: str = "exploratory"
    to_settle: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The first lines of a thread. `not_settled` says that nothing is settled, or was compared, and `command` what to
    type to compare something; both are empty where something is settled. `next` is the latest next action, of the entry
    `next_of`."""

    asked: str
    settled: tuple[Line, ...] = ()
    open: tuple[Line, ...] = ()
    not_settled: str = ""
    command: str = ""
    next_of: str = ""
    next: str = ""


# Of a thread whose entries state no comparison.
NO_ANSWERS = Opening(asked="")
