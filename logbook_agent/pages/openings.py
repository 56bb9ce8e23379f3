"""The first lines of a thread as values of the template `opening.md.j2`, which view and issue share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from logbook_agent.findings.opening import SHOWN, Line, Opening
from logbook_agent.text import markdown as md


def _more(count: int, noun: str) -> str:
    return f"{count:,} more {noun}: `logbook status --json`"


def opening_values(
    first: Opening,
    *,
    plain: Callable[[str], str] = md.escape,
    prose: Callable[[str], Any] = md.one_line,
    link: Callable[[str], str] = str,
    more: Callable[[int, str], str] = _more,
) -> dict[str, Any]:
    """Values of the template. `plain` makes Markdown of plain text, `prose` of a title, `link` of an ID; `more` says
    how many lines are left out."""

    def line(of: Line) -> dict[str, Any]:
        return {
            "text": plain(of.text),
            "is_goal": of.is_goal,
            "entry": link(of.entry),
            "title": prose(of.title),
            "confidence": of.confidence,
            # What the sentence says already is not said again.
            "to_settle": "" if of.to_settle in of.text else plain(f"needs {of.to_settle}"),
            "command": md.one_line_code(of.command),
        }

    def left_out(lines: tuple[Line, ...], noun: str) -> str:
        return more(len(lines) - SHOWN, noun) if len(lines) > SHOWN else ""

    return {
        "asked": prose(first.asked),
        "settled": [line(one) for one in first.settled[:SHOWN]],
        "more_settled": left_out(first.settled, "settled findings"),
        "not_settled": plain(first.not_settled),
        "command": md.one_line_code(first.command),
        "open": [line(one) for one in first.open[:SHOWN]],
        "more_open": left_out(first.open, "open findings"),
        "next_of": link(first.next_of) if first.next_of else "",
        "next": prose(first.next),
    }
