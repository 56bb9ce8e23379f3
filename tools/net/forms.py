"""Former forms of commands.

A story is written in the newest form. A version that lacks the command or one of its options is given the next older
form instead; a command that it has in no form is counted and left out of the comparison.
"""

from __future__ import annotations

import re

# A pattern in a command line as a story has it, and what an earlier version has in its place.
FORMS = (
    # The same question again is a new entry only with --new; it was always one.
    (r"^logbook ab (.*?)--new ", r"logbook ab \1"),
    # So many pairs were judged again whenever more were added.
    (r"^logbook ab (.*?)--pairs ", r"logbook ab \1--repeat "),
    (r"^logbook (.*)render --check", r"logbook \1render --absorb --dry-run"),
)


def forms(line: str) -> list[str]:
    """The line, then each older form of it."""
    lines = [line]
    for newer, older in FORMS:
        former = re.sub(newer, older, lines[-1])
        if former != lines[-1]:
            lines.append(former)
    return lines
